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

import com.google.common.collect.ImmutableList;
import com.google.common.io.Resources;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.openqa.selenium.By;
import org.openqa.selenium.Dimension;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/** Debian's Chromium without a window, with a profile of its own. */
final class Browser implements AutoCloseable {
  private static final File PROGRAM = new File("/usr/bin/chromium");
  private static final File DRIVER = new File("/usr/bin/chromedriver");

  private static final String AXE = resource("axe.min.js");

  /**
   * It warns that it has no DevTools protocol of this version, which is not used. Kept, as else it
   * is forgotten.
   */
  private static final Logger SELENIUM = Logger.getLogger("org.openqa.selenium");

  private final ChromeDriver driver;

  Browser() {
    SELENIUM.setLevel(Level.SEVERE);
    ChromeOptions options = new ChromeOptions();
    options.setBinary(PROGRAM);
    // Chromium's sandbox refuses to run as root, and the shared memory of a container is small.
    options.addArguments("--headless=new", "--no-sandbox", "--disable-dev-shm-usage");
    LoggingPreferences logs = new LoggingPreferences();
    logs.enable(LogType.BROWSER, Level.ALL);
    options.setCapability("goog:loggingPrefs", logs);
    driver =
        new ChromeDriver(
            new ChromeDriverService.Builder().usingDriverExecutable(DRIVER).build(), options);
    AtExit.add(this);
    resize(1400, 1000);
  }

  private static String resource(String name) {
    try {
      return Resources.toString(Resources.getResource(name), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Forgets who is signed in, and shows nothing. */
  void forget() {
    scripts(true);
    dark(false);
    resize(1400, 1000);
    open("about:blank");
    driver.executeCdpCommand("Network.clearBrowserCookies", Map.of());
    console();
  }

  String url() {
    return driver.getCurrentUrl();
  }

  /** By how many pixels the page is wider than the window. */
  long overflow() {
    return (Long) run("const e = document.documentElement; return e.scrollWidth - e.clientWidth");
  }

  void open(String url) {
    driver.get(url);
  }

  void resize(int width, int height) {
    driver.manage().window().setSize(new Dimension(width, height));
    // A window can't be as narrow as a phone, but the page in it can.
    driver.executeCdpCommand(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
  }

  void dark(boolean dark) {
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia",
        Map.of(
            "features",
            List.of(Map.of("name", "prefers-color-scheme", "value", dark ? "dark" : "light"))));
  }

  /** Switches JavaScript on or off, for the pages that are opened from now on. */
  void scripts(boolean on) {
    driver.executeCdpCommand("Emulation.setScriptExecutionDisabled", Map.of("value", !on));
  }

  ImmutableList<WebElement> all(String selector) {
    return ImmutableList.copyOf(driver.findElements(By.cssSelector(selector)));
  }

  WebElement one(String selector) {
    return driver.findElement(By.cssSelector(selector));
  }

  /** Waits for an element that is shown. */
  WebElement await(String selector) {
    Deadline.in(Duration.ofMinutes(1))
        .await(() -> all(selector).stream().anyMatch(WebElement::isDisplayed), selector);
    return one(selector);
  }

  String text() {
    return one("body").getText();
  }

  Object run(String script, Object... arguments) {
    return driver.executeScript(script, arguments);
  }

  /** What the console of the browser says, such as breaches of the content security policy. */
  List<String> console() {
    return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
        .map(LogEntry::getMessage)
        .toList();
  }

  /** What axe-core finds on the page as it is, by the rules of WCAG 2.2 and its own. */
  List<String> obstacles() {
    run(AXE);
    Object found =
        driver.executeAsyncScript(
            """
            const done = arguments[arguments.length - 1];
            axe.run().then((result) => done(result.violations.flatMap((rule) =>
                rule.nodes.map((node) => rule.id + ': ' + node.html + ' ' + node.failureSummary))));
            """);
    return ((List<?>) found).stream().map(String::valueOf).toList();
  }

  /** Writes a picture of what the window shows. */
  void picture(Path file) throws IOException {
    Files.createDirectories(file.getParent());
    Files.write(file, driver.getScreenshotAs(OutputType.BYTES));
  }

  /** Writes a picture of the whole page. */
  void wholePicture(Path file) throws IOException {
    Object height = run("return document.documentElement.scrollHeight");
    Object width = run("return window.innerWidth");
    resize(((Number) width).intValue(), ((Number) height).intValue());
    picture(file);
  }

  @Override
  public void close() {
    AtExit.remove(this);
    driver.quit();
  }
}
