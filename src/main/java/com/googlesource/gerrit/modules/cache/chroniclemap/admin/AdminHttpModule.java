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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.inject.Singleton;
import com.google.inject.servlet.ServletModule;
import java.io.IOException;
import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import javax.servlet.http.HttpServletResponse;
import javax.servlet.http.HttpServletResponseWrapper;

/** The binding of the page. Gerrit itself serves the documentation and the files of the page. */
final class AdminHttpModule extends ServletModule {
  @Override
  protected void configureServlets() {
    filter("*.svg").through(Pictures.class);
    serveRegex("^/?$").with(PageServlet.class);
  }

  /**
   * Names the type of the documentation's charts. Gerrit calls them XML, and no browser shows it.
   */
  @Singleton
  private static final class Pictures implements Filter {
    @Override
    public void init(FilterConfig config) {}

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
        throws IOException, ServletException {
      chain.doFilter(
          request,
          new HttpServletResponseWrapper((HttpServletResponse) response) {
            @Override
            public void setContentType(String type) {
              boolean isXml = type != null && type.startsWith("application/xml");
              super.setContentType(isXml ? "image/svg+xml" : type);
            }
          });
    }

    @Override
    public void destroy() {}
  }
}
