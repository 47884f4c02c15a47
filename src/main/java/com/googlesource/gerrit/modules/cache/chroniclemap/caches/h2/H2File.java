// Copyright (C) 2026 The cache-chroniclemap authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2;

import static com.google.common.base.Strings.lenientFormat;

import com.google.gerrit.common.Nullable;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.Optional;
import java.util.Properties;

/**
 * The file of one of Gerrit's H2 caches, opened read-only. The file does not change, and no other
 * file is written beside it, even if its last user was killed. H2 itself may delete the remains of
 * its own killed compaction. No other process can open the file meanwhile.
 *
 * <p>The layout is that of Gerrit's H2CacheImpl (3.9 to 3.14, with H2 version 2): {@code
 * NAME-v2.mv.db} has one table {@code data(k, v, created, accessed, space, version)}. {@code k} is
 * a VARCHAR for caches whose keys are strings and the serialized key otherwise, {@code v} is the
 * serialized value, and {@code version} is that of the cache's definition. There are indexes on
 * (version, k) and on accessed.
 *
 * <p>For one thread. Rows are streamed, so the memory in use does not grow with them.
 */
final class H2File implements AutoCloseable {
  private static final String SUFFIX = "-v2.mv.db";

  /** The size of H2's page cache in KB. By default it takes a sixteenth of the heap. */
  private static final int CACHE_KB = 16 << 10;

  // Codes of H2's ErrorCode.
  private static final int ALREADY_OPEN = 90020;
  private static final int NO_TABLES = 42104;

  /**
   * One row.
   *
   * @param key a String or a byte[]
   * @param created milliseconds since the epoch
   */
  record Row(int version, Object key, byte[] value, long created) {}

  /** Says that a file may be read later. */
  static final class InUseException extends IOException {
    private static final long serialVersionUID = 1L;

    InUseException(Path file) {
      super(file + " is in use by another process: an offline program, or another Gerrit");
    }
  }

  private final Connection connection;
  @Nullable private ResultSet rows;
  private boolean hasTextKeys;

  private H2File(Connection connection) {
    this.connection = connection;
  }

  /** The file of a cache in H2's folder. */
  static Path pathOf(Path folder, String cache) {
    return folder.resolve(cache + SUFFIX);
  }

  /** The cache of a file in H2's folder; empty if it is another file. */
  static Optional<String> cacheOf(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(SUFFIX)
        ? Optional.of(name.substring(0, name.length() - SUFFIX.length()))
        : Optional.empty();
  }

  static H2File open(Path file) throws IOException {
    String path = file.toAbsolutePath().toString();
    String database = path.substring(0, path.length() - ".mv.db".length());
    String url =
        lenientFormat(
            "jdbc:h2:file:%s;ACCESS_MODE_DATA=r;IFEXISTS=TRUE;TRACE_LEVEL_FILE=0;CACHE_SIZE=%s;LAZY_QUERY_EXECUTION=1",
            database, CACHE_KB);
    try {
      Connection connection = driver().connect(url, new Properties());
      if (connection == null) {
        throw new IOException("the H2 of this Gerrit does not support " + url);
      }
      return new H2File(connection);
    } catch (SQLException | RuntimeException | LinkageError e) {
      if (e instanceof SQLException sql && sql.getErrorCode() == ALREADY_OPEN) {
        throw new InUseException(file);
      }
      throw new IOException("H2 cannot read " + file + ": " + firstLine(e), e);
    }
  }

  /** Loads H2's driver by name, as Gerrit's own class loader does not offer it as a service. */
  private static Driver driver() throws IOException {
    try {
      return Class.forName("org.h2.Driver", true, H2File.class.getClassLoader())
          .asSubclass(Driver.class)
          .getDeclaredConstructor()
          .newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IOException("this Gerrit no longer has H2", e);
    }
  }

  private static String firstLine(Throwable e) {
    String message = e.getMessage() == null ? e.toString() : e.getMessage();
    return message.lines().findFirst().orElse("").strip();
  }

  /**
   * Has {@link #next} return all rows. Must be called only once.
   *
   * @param byUse whether the most recently used come first, unless H2 has no index for this order
   *     and would have to sort all rows in memory; takes several times as long
   */
  void read(boolean byUse) throws IOException {
    String sql = "SELECT version, k, v, created FROM data ORDER BY ";
    try (Statement asking = connection.createStatement();
        ResultSet plan = asking.executeQuery("EXPLAIN " + sql + "accessed DESC")) {
      boolean isSorted = plan.next() && plan.getString(1).contains("index sorted");
      String order = byUse && isSorted ? "accessed DESC" : "_ROWID_";
      // The statement stays open until the database is shut down.
      rows = connection.createStatement().executeQuery(sql + order);
      hasTextKeys = rows.getMetaData().getColumnType(2) == Types.VARCHAR;
    } catch (SQLException | RuntimeException e) {
      // There is no table, and so no row, if the cache was never used.
      if (!(e instanceof SQLException none && none.getErrorCode() == NO_TABLES)) {
        throw new IOException(firstLine(e), e);
      }
    }
  }

  /** Returns the next row; null if there is none. */
  @Nullable
  Row next() throws IOException {
    try {
      if (rows == null || !rows.next()) {
        return null;
      }
      return new Row(
          rows.getInt(1),
          hasTextKeys ? rows.getString(2) : rows.getBytes(2),
          rows.getBytes(3),
          rows.getTimestamp(4).getTime());
    } catch (SQLException | RuntimeException | LinkageError | AssertionError e) {
      // Where assertions are enabled, H2 has some that a damaged page breaks.
      throw new IOException(firstLine(e), e);
    }
  }

  /**
   * Closes the file, whatever its state. Closing the connection is not enough, since a setting in
   * Gerrit's H2 files keeps them open when they are not in use.
   */
  @Override
  public void close() {
    try (connection;
        Statement last = connection.createStatement()) {
      last.execute("SHUTDOWN IMMEDIATELY");
    } catch (SQLException | RuntimeException e) {
      // Nothing was written, so nothing can be lost.
    }
  }
}
