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

import com.google.gerrit.common.Nullable;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.Properties;

/**
 * The file in which Gerrit's H2 keeps one cache, opened read-only: not a byte of it changes, and no
 * other file is written beside it, also where its last user was killed; H2 may delete what a killed
 * compaction of its own left there. Another process can't have it open meanwhile.
 *
 * <p>What is in it, as Gerrit's H2CacheImpl (3.9 to 3.14, H2 of version 2) makes it: {@code
 * NAME-v2.mv.db} with one table {@code data(k, v, created, accessed, space, version)}. {@code k} is
 * a VARCHAR for caches whose keys are strings and the serialized key otherwise, {@code v} the
 * serialized value, {@code version} that of the cache's definition. There are indexes on (version,
 * k) and accessed.
 *
 * <p>For one thread. Memory does not grow with the rows: they are streamed.
 */
final class H2File implements AutoCloseable {
  private static final String SUFFIX = "-v2.mv.db";

  /** KB of H2's own page cache; by default it takes a sixteenth of the heap. */
  private static final int CACHE_KB = 4096;

  // H2's ErrorCode.
  private static final int ALREADY_OPEN = 90020;
  private static final int NO_TABLES = 42104;

  /**
   * One row.
   *
   * @param key a String or a byte[]
   * @param created milliseconds since the epoch
   */
  record Row(int version, Object key, byte[] value, long created) {}

  private final Connection connection;
  @Nullable private ResultSet rows;
  private boolean hasTextKeys;

  private H2File(Connection connection) {
    this.connection = connection;
  }

  /** Where H2 keeps a cache. */
  static Path pathOf(Path folder, String cache) {
    return folder.resolve(cache + SUFFIX);
  }

  /** Whether a file's name is that of a cache of H2's. */
  static boolean isOne(Path file) {
    return file.getFileName().toString().endsWith(SUFFIX);
  }

  /** The cache of a file for which {@link #isOne} holds. */
  static String cacheOf(Path file) {
    String name = file.getFileName().toString();
    return name.substring(0, name.length() - SUFFIX.length());
  }

  static H2File open(Path file) throws H2Exception {
    String path = file.toAbsolutePath().toString();
    String database = path.substring(0, path.length() - ".mv.db".length());
    String url =
        "jdbc:h2:file:%s;ACCESS_MODE_DATA=r;IFEXISTS=TRUE;TRACE_LEVEL_FILE=0;CACHE_SIZE=%d;LAZY_QUERY_EXECUTION=1"
            .formatted(database, CACHE_KB);
    try {
      Connection connection = driver().connect(url, new Properties());
      if (connection == null) {
        throw new H2Exception("the H2 of this Gerrit does not know " + url);
      }
      return new H2File(connection);
    } catch (SQLException | RuntimeException | LinkageError e) {
      throw new H2Exception(reasonOf(e, file), e);
    }
  }

  /** As a service it would not be found: Gerrit's launcher has a class loader of its own. */
  private static Driver driver() throws H2Exception {
    try {
      return Class.forName("org.h2.Driver", true, H2File.class.getClassLoader())
          .asSubclass(Driver.class)
          .getDeclaredConstructor()
          .newInstance();
    } catch (ReflectiveOperationException e) {
      throw new H2Exception("this Gerrit has no H2 any more", e);
    }
  }

  private static String reasonOf(Throwable e, Path file) {
    if (e instanceof SQLException sql && sql.getErrorCode() == ALREADY_OPEN) {
      return file + " is in use by another process: an offline program, or another Gerrit";
    }
    return "H2 cannot read " + file + ": " + firstLine(e);
  }

  private static String firstLine(Throwable e) {
    String message = e.getMessage() == null ? e.toString() : e.getMessage();
    return message.lines().findFirst().orElse("").strip();
  }

  /**
   * Rows there are, of any version; none if there is no table, as nobody has used the cache. Takes
   * no time that grows with them.
   */
  long count() throws H2Exception {
    try (Statement counting = connection.createStatement();
        ResultSet result = counting.executeQuery("SELECT COUNT(*) FROM data")) {
      return result.next() ? result.getLong(1) : 0;
    } catch (SQLException | RuntimeException e) {
      if (e instanceof SQLException sql && sql.getErrorCode() == NO_TABLES) {
        return 0;
      }
      throw new H2Exception(firstLine(e), e);
    }
  }

  /** Once: from here on {@link #next} answers all rows, in the order in which they were made. */
  void readAll() throws H2Exception {
    query("SELECT version, k, v, created FROM data ORDER BY _ROWID_");
  }

  /**
   * Once: from here on {@link #next} answers all rows, those that were asked for last first.
   *
   * @return false if H2 has no index for that, and so would have to sort all of them in memory
   */
  boolean readLastUsedFirst() throws H2Exception {
    String sql = "SELECT version, k, v, created FROM data ORDER BY accessed DESC";
    try (Statement asking = connection.createStatement();
        ResultSet plan = asking.executeQuery("EXPLAIN " + sql)) {
      if (!plan.next() || !plan.getString(1).contains("index sorted")) {
        return false;
      }
    } catch (SQLException | RuntimeException e) {
      throw new H2Exception(firstLine(e), e);
    }
    query(sql);
    return true;
  }

  private void query(String sql) throws H2Exception {
    try {
      // Open until the database is shut down.
      rows = connection.createStatement().executeQuery(sql);
      hasTextKeys = rows.getMetaData().getColumnType(2) == Types.VARCHAR;
    } catch (SQLException | RuntimeException e) {
      throw new H2Exception(firstLine(e), e);
    }
  }

  /** The next row; null if there is none. */
  @Nullable
  Row next() throws H2Exception {
    try {
      if (!rows.next()) {
        return null;
      }
      return new Row(
          rows.getInt(1),
          hasTextKeys ? rows.getString(2) : rows.getBytes(2),
          rows.getBytes(3),
          rows.getTimestamp(4).getTime());
    } catch (SQLException | RuntimeException | LinkageError e) {
      throw new H2Exception(firstLine(e), e);
    }
  }

  /**
   * Lets go of the file, whatever state it is in. To close the connection would not do: Gerrit has
   * H2 keep its files open when nobody uses them, and that is noted in them.
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
