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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import javax.management.JMException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Reads from outside what a daemon has taken of the processors, and has allocated. */
final class DaemonMeter implements AutoCloseable {
  private final JMXConnector connector;
  private final MBeanServerConnection daemon;

  // The address is the one that the daemon itself has told.
  @SuppressWarnings("BanJNDI")
  DaemonMeter(GerritDaemon daemon) throws IOException {
    try {
      VirtualMachine machine = VirtualMachine.attach(Long.toString(daemon.pid()));
      try {
        connector =
            JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()));
      } finally {
        machine.detach();
      }
    } catch (AttachNotSupportedException e) {
      throw new IOException(e);
    }
    this.daemon = connector.getMBeanServerConnection();
  }

  /** Processor time of the process in milliseconds. */
  double cpuMillis() throws IOException {
    return read("java.lang:type=OperatingSystem", "ProcessCpuTime") / 1e6;
  }

  /** Megabytes that its threads have allocated, also those that have ended. */
  double allocatedMegabytes() throws IOException {
    return read("java.lang:type=Threading", "TotalThreadAllocatedBytes") / 1e6;
  }

  private double read(String bean, String attribute) throws IOException {
    try {
      return ((Number) daemon.getAttribute(new ObjectName(bean), attribute)).doubleValue();
    } catch (JMException e) {
      throw new IOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    connector.close();
  }
}
