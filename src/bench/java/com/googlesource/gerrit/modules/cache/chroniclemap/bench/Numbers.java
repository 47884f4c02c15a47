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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.util.Locale;

/** How numbers are shown to people. */
public final class Numbers {
  private Numbers() {}

  /** Without decimals. */
  public static String whole(double number) {
    return String.format(Locale.ROOT, "%,d", Math.round(number));
  }

  /** With a decimal where there are fewer than three digits before the point. */
  public static String threeDigits(double number) {
    if (number >= 99.95) {
      return whole(number);
    }
    return String.format(Locale.ROOT, number >= 9.995 ? "%.1f" : "%.2f", number);
  }
}
