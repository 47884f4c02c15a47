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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.util.ArrayList;
import java.util.List;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/** The warnings that a class of the refs logs while this is open. For one thread. */
public final class Warnings extends AppenderSkeleton implements AutoCloseable {
  private final Logger logger;
  public final List<String> texts = new ArrayList<>();

  public Warnings(String className) {
    logger = Logger.getLogger(Warnings.class.getPackageName() + "." + className);
    logger.addAppender(this);
  }

  @Override
  protected void append(LoggingEvent event) {
    texts.add(event.getRenderedMessage());
  }

  @Override
  public boolean requiresLayout() {
    return false;
  }

  @Override
  public void close() {
    logger.removeAppender(this);
  }
}
