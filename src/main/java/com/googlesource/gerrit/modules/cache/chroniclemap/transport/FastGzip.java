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

package com.googlesource.gerrit.modules.cache.chroniclemap.transport;

import com.google.common.base.Splitter;
import com.google.common.base.Strings;
import com.google.gerrit.common.Nullable;
import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import javax.servlet.ServletOutputStream;
import javax.servlet.WriteListener;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletRequestWrapper;
import javax.servlet.http.HttpServletResponse;
import javax.servlet.http.HttpServletResponseWrapper;
import org.aopalliance.intercept.MethodInvocation;
import org.eclipse.jgit.util.HttpSupport;

/**
 * A filter that compresses lists of refs over HTTP at gzip's fastest level. JGit's level takes
 * three times as long, about half of the server's time for a long list, and saves no more than 4 %:
 * nearly all of a list is object ids.
 *
 * <p>JGit compresses a long list only at the start of a push, and of a fetch by protocol 0 or 1, if
 * the client accepts that. So this class hides from JGit that the client accepts it, and compresses
 * JGit's output itself.
 *
 * <p>For the thread of the request.
 */
final class FastGzip {
  /** The longest answer that JGit does not compress. */
  private static final int MAX_UNCOMPRESSED = 256;

  private static final int BUFFER = 8 << 10;

  private FastGzip() {}

  /** Intercepts {@code doFilter} of Gerrit's filters for pushes and fetches. */
  static Object filtered(MethodInvocation filter) throws Throwable {
    Object[] arguments = filter.getArguments();
    if (arguments[0] instanceof HttpServletRequest request
        && arguments[1] instanceof HttpServletResponse response
        && request.getMethod().equals("GET")
        && acceptsGzip(request)) {
      arguments[0] = new Uncompressed(request);
      arguments[1] = new Compressed(response);
    }
    return filter.proceed();
  }

  /** As JGit understands it. */
  private static boolean acceptsGzip(HttpServletRequest request) {
    String encodings = Strings.nullToEmpty(request.getHeader(HttpSupport.HDR_ACCEPT_ENCODING));
    return Splitter.on(',')
        .trimResults()
        .splitToList(encodings)
        .contains(HttpSupport.ENCODING_GZIP);
  }

  /** A request by a client that does not accept compression. */
  private static final class Uncompressed extends HttpServletRequestWrapper {
    Uncompressed(HttpServletRequest request) {
      super(request);
    }

    @Override
    public String getHeader(String name) {
      return name.equalsIgnoreCase(HttpSupport.HDR_ACCEPT_ENCODING) ? null : super.getHeader(name);
    }
  }

  /** A response that is compressed unless it is short. */
  private static final class Compressed extends HttpServletResponseWrapper {
    private boolean isShort;
    @Nullable private ServletOutputStream out;

    Compressed(HttpServletResponse response) {
      super(response);
    }

    /** JGit calls this before it writes an answer that it has in memory. */
    @Override
    public void setContentLength(int length) {
      isShort = length <= MAX_UNCOMPRESSED;
      if (isShort) {
        super.setContentLength(length);
      }
    }

    @Override
    public void setContentLengthLong(long length) {
      setContentLength((int) Math.min(length, Integer.MAX_VALUE));
    }

    @Override
    public ServletOutputStream getOutputStream() throws IOException {
      if (isShort) {
        return super.getOutputStream();
      }
      if (out == null) {
        setHeader(HttpSupport.HDR_CONTENT_ENCODING, HttpSupport.ENCODING_GZIP);
        out = new GzipServletStream(super.getOutputStream());
      }
      return out;
    }
  }

  /**
   * A stream that ignores flush: JGit flushes just before it closes, which would send an empty
   * packet.
   */
  private static final class GzipServletStream extends ServletOutputStream {
    private final OutputStream gzip;

    GzipServletStream(ServletOutputStream out) throws IOException {
      gzip =
          new GZIPOutputStream(out, BUFFER) {
            {
              def.setLevel(Deflater.BEST_SPEED);
            }
          };
    }

    @Override
    public void write(int b) throws IOException {
      gzip.write(b);
    }

    @Override
    public void write(byte[] buffer, int offset, int length) throws IOException {
      gzip.write(buffer, offset, length);
    }

    @Override
    public void close() throws IOException {
      gzip.close();
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void setWriteListener(WriteListener listener) {
      throw new UnsupportedOperationException("lists of refs are written by the request's thread");
    }
  }
}
