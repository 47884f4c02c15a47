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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;

/** A process that {@link RefKillsIT} kills while its {@link RefsWriter}s work. */
final class RefKillsMain {
  static final List<String> REPOSITORIES = List.of("first", "second", "durable");

  private static final int WRITERS = 3;
  private static final int PACKS_ONE_IN = 25;
  private static final int MAX_LOOSE = 20;

  private RefKillsMain() {}

  /** Folder, seed, and for each set the generation that was acknowledged last, with commas. */
  public static void main(String[] args) {
    try {
      Path folder = Path.of(args[0]);
      RefsModel model = new RefsModel(folder, REPOSITORIES);
      model.heed(args[2]);
      run(model, new Random(Long.parseLong(args[1])), REPOSITORIES);
    } catch (Exception | AssertionError e) {
      RefsWriter.end(e);
    }
  }

  /** Changes all repositories until the process ends. */
  static void run(RefsModel model, Random random, List<String> repositories) throws IOException {
    RefsWriter.sayOnOutput("ready .");
    for (String name : repositories) {
      UpdateSettings updates =
          new UpdateSettings(
              UpdateSettings.By.OWN,
              random.nextBoolean() ? 1000 : 0,
              random.nextInt(3) == 0 ? 0 : MAX_LOOSE);
      TestRefs repository = model.open(name);
      FileRefDatabase refs = repository.database(TestRefs.cache(updates));
      for (int i = 0; i < WRITERS; i++) {
        int number = i;
        List<RefSet> sets =
            model.sets(name).stream().filter(set -> set.number() % WRITERS == number).toList();
        Random own = new Random(random.nextLong());
        RefsWriter writer =
            new RefsWriter(repository, refs, model, sets, own, RefsWriter::sayOnOutput);
        writer.find();
        new Thread(() -> write(writer, own)).start();
      }
    }
  }

  private static void write(RefsWriter writer, Random random) {
    try {
      while (true) {
        RefSet set = writer.any();
        writer.ended(set, writer.move(set, RefsWriter.By.MODULE));
        if (random.nextInt(PACKS_ONE_IN) == 0) {
          var unused = writer.pack(RefsWriter.By.MODULE);
        }
      }
    } catch (IOException | InterruptedException | RuntimeException | Error e) {
      RefsWriter.end(e);
    }
  }
}
