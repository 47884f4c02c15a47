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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour;

import com.google.common.collect.ImmutableList;

/** What goes into the neighbour's jar. */
public final class Neighbour {
  /** Its classes. */
  public static final ImmutableList<Class<?>> CLASSES =
      ImmutableList.of(GuardModule.class, StrangerModule.class, VeilModule.class);

  /** What it says to who changes a ref that it does not let pass. */
  public static final String MESSAGE = GuardModule.MESSAGE;

  /** What the names of the branches begin with that it hides. */
  public static final String VEILED = VeilModule.VEILED;

  private Neighbour() {}
}
