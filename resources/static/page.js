// Copyright (C) 2026 The cache-chroniclemap authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the page up to date, draws the charts, and sends the work that the buttons ask for.
'use strict';

(() => {
  const REFRESH_MILLIS = 5000;
  const OUT_OF_DATE = 'The figures are out of date';
  const SERVER = '../../config/server/';
  const API = `${SERVER}cache-chroniclemap~`;
  const POWERS_OF_TWO = Array.from({length: 50}, (_, i) => 2 ** i);
  const main = document.getElementById('main');
  const cache = main.dataset.cache;
  const hours = Number(main.dataset.hours);
  const status = document.getElementById('status');
  const age = document.getElementById('age');
  const pause = document.getElementById('pause');
  const DASHES = [[], [8, 3], [2, 3], [8, 3, 2, 3]];
  const LEGEND = ['solid', 'dashed', 'dotted', 'double'];
  let notices = [];
  let paused = false;
  let updated = Date.now();

  // How each figure of the history becomes a line: "rate" is its rise per second.
  const CHARTS = [
    {
      into: 'cache-charts',
      group: 'caches',
      title: 'Lookups per second',
      format: count,
      lines: [
        ['memory hits', 'heap_hits', 'rate'],
        ['disk hits', 'hits', 'rate'],
        ['misses', 'misses', 'rate'],
      ],
    },
    {
      into: 'cache-charts',
      group: 'caches',
      title: 'Writes per second',
      format: count,
      lines: [
        ['puts', 'puts', 'rate'],
        ['evicted', 'evicted', 'rate'],
      ],
    },
    {
      into: 'cache-charts',
      group: 'caches',
      title: 'Size',
      format: bytes,
      lines: [
        ['live', 'live_bytes', 1],
        ['on disk', 'disk_bytes', 1],
      ],
    },
    {
      into: 'cache-charts',
      group: 'caches',
      title: cache ? 'Latency, 99th percentile' : 'Latency of the slowest cache, 99th percentile',
      format: nanos,
      lines: [
        ['read from disk', 'read_latency_p99', 1],
        ['put', 'put_latency_p99', 1000],
      ],
    },
    {
      into: 'refs-charts',
      group: 'refs',
      title: 'Refs per second',
      format: count,
      lines: [
        ['lookups', 'lookups', 'rate'],
        ['packed-refs files read', 'checks', 'rate'],
        ['lists parsed', 'parses', 'rate'],
      ],
    },
    {
      into: 'refs-charts',
      group: 'refs',
      title: 'Pushes and fetches per second',
      format: count,
      lines: [
        ['pushes', 'pushes', 'rate'],
        ['pushes left to Gerrit', 'pushes_left', 'rate'],
        ['fetches by id', 'fetches_by_tip', 'rate'],
        ['fetches left to JGit', 'fetches_by_walk', 'rate'],
      ],
    },
    {
      into: 'memory-charts',
      group: 'process',
      title: 'Memory of the process',
      format: bytes,
      lines: [
        ['Java heap', 'heap_bytes', 1],
        ['direct', 'direct_bytes', 1],
      ],
    },
  ];

  function scaled(value, step, units) {
    let unit = 0;
    let rest = value;
    while (rest >= 999.5 && unit < units.length - 1) {
      rest /= step;
      unit++;
    }
    return `${Number(rest.toPrecision(3))}${units[unit]}`;
  }

  function count(value) {
    return scaled(value, 1000, ['', 'k', 'M', 'G']);
  }

  function bytes(value) {
    return scaled(value, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
  }

  function nanos(value) {
    return scaled(value, 1000, [' ns', ' µs', ' ms', ' s']);
  }

  // Gerrit puts )]}' in front of JSON, so that no other site can run it as a script.
  async function getJson(url) {
    const response = await fetch(url, {headers: {Accept: 'application/json'}});
    if (!response.ok) {
      throw new Error(`${response.status} ${await response.text()}`);
    }
    return JSON.parse((await response.text()).slice(4));
  }

  async function send(method, url, body) {
    const headers = {'X-Gerrit-Auth': main.dataset.token};
    if (body) {
      headers['Content-Type'] = 'application/json';
    }
    const response = await fetch(url, {method, headers, body});
    if (!response.ok) {
      const text = (await response.text()).trim() || `status ${response.status}`;
      throw Object.assign(new Error(text), {status: response.status});
    }
    return response.text();
  }

  function say(text) {
    if (status.textContent !== text) {
      status.textContent = text;
    }
  }

  // Changes only what differs, so that the focus, the scrolling and a selection stay.
  function morph(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
      old.replaceWith(fresh);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) {
        old.data = fresh.data;
      }
      return;
    }
    if (old.classList.contains('charts')) {
      return;
    }
    for (const {name, value} of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value) {
        old.setAttribute(name, value);
      }
    }
    for (const {name} of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== 'open') {
        old.removeAttribute(name);
      }
    }
    const olds = [...old.childNodes];
    const freshes = [...fresh.childNodes];
    freshes.forEach((node, i) => {
      if (i < olds.length) {
        morph(olds[i], node);
      } else {
        old.append(node);
      }
    });
    olds.slice(freshes.length).forEach((node) => node.remove());
  }

  // The server writes times in its own zone; the axes of the charts are in the browser's.
  function localTimes(root) {
    for (const time of root.querySelectorAll('time')) {
      time.textContent = new Date(time.dateTime).toLocaleString();
    }
  }

  async function refresh() {
    const response = await fetch(location.href);
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    const token = fresh.getElementById('main')?.dataset.token;
    if (response.status === 404) {
      throw new Error('this cache is gone');
    }
    if (!response.ok || token === undefined) {
      throw new Error(response.status >= 500 ? `status ${response.status}` : 'reload the page, and sign in again');
    }
    updated = Date.now();
    main.dataset.token = token;
    localTimes(fresh);
    for (const section of document.querySelectorAll('[data-refresh]')) {
      const same = fresh.getElementById(section.id);
      if (same) {
        morph(section, same);
      }
    }
    sayEnds();
  }

  function values(history, chart, [, figure, scale]) {
    const all = history[chart.group][figure];
    if (!all) {
      return history.times.map(() => null);
    }
    if (scale !== 'rate') {
      return all.map((value) => (value === null ? null : value * scale));
    }
    return all.map((value, i) => {
      const before = i === 0 ? null : all[i - 1];
      if (value === null || before === null || value < before) {
        return null;
      }
      const millis = history.times[i] - history.times[i - 1];
      return millis > 0 ? ((value - before) * 1000) / millis : null;
    });
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function widthOf(place) {
    return Math.max(240, place.clientWidth);
  }

  function axis(more) {
    return {
      stroke: colour('--quiet'),
      grid: {stroke: colour('--line'), width: 1},
      ticks: {stroke: colour('--line'), width: 1},
      ...more,
    };
  }

  // Whether somebody chose a part of the time with the mouse. A double click shows all again.
  function isZoomed(plot) {
    const times = plot.data[0];
    return plot.scales.x.min > times[0] || plot.scales.x.max < times[times.length - 1];
  }

  function draw(chart, data) {
    const value = (plot, raw) => (raw === null || raw === undefined ? '–' : chart.format(raw));
    chart.plot?.destroy();
    chart.plot = new uPlot(
      {
        width: widthOf(chart.place),
        height: 200,
        cursor: {drag: {x: true, y: false}, sync: {key: 'time'}},
        legend: {markers: {width: 3, stroke: (plot, i) => colour(`--series-${i}`), dash: (plot, i) => LEGEND[i - 1], fill: 'none'}},
        hooks: {setScale: [(plot, scale) => scale === 'x' && (chart.zoomed = isZoomed(plot))]},
        series: [
          {label: 'time', value: (plot, raw) => (raw ? new Date(raw * 1000).toLocaleTimeString() : '–')},
          ...chart.lines.map(([label], i) => ({
            label,
            value,
            stroke: colour(`--series-${i + 1}`),
            width: 2,
            dash: DASHES[i],
            points: {show: false},
          })),
        ],
        scales: {
          y: {range: (plot, low, high) => [0, high > 0 ? high * 1.1 : 1]},
        },
        axes: [
          axis({}),
          axis({
            size: 70,
            values: (plot, ticks) => ticks.map(chart.format),
            ...(chart.format === bytes && {incrs: POWERS_OF_TWO}),
          }),
        ],
      },
      data,
      chart.place.querySelector('.plot'),
    );
  }

  async function drawAll() {
    const all = await getJson(`${API}history`);
    const ofCache = cache
      ? await getJson(`${API}caches/${encodeURIComponent(cache)}/history`)
      : all;
    for (const chart of CHARTS) {
      const parent = document.getElementById(chart.into);
      const history = chart.group === 'caches' ? ofCache : all;
      // Two samples make the first line.
      if (!parent || !history[chart.group] || history.times.length < 2) {
        continue;
      }
      if (!chart.place) {
        parent.querySelector('.waiting')?.remove();
        chart.place = document.createElement('figure');
        const caption = document.createElement('figcaption');
        caption.textContent = chart.title;
        const plot = document.createElement('div');
        plot.className = 'plot';
        chart.place.append(caption, plot);
        parent.append(chart.place);
        new ResizeObserver(() => {
          if (chart.plot) {
            chart.plot.setSize({width: widthOf(chart.place), height: 200});
          }
        }).observe(chart.place);
      }
      const from = history.times[history.times.length - 1] - hours * 3600000;
      const first = history.times.findIndex((millis) => millis >= from);
      const data = [history.times.map((millis) => millis / 1000)]
        .concat(chart.lines.map((line) => values(history, chart, line)))
        .map((all) => all.slice(first));
      if (chart.plot) {
        chart.plot.setData(data, !chart.zoomed);
        if (chart.zoomed) {
          chart.plot.redraw();
        }
      } else {
        draw(chart, data);
      }
    }
    return all.interval_millis;
  }

  function confirmed(button) {
    const dialog = document.getElementById('confirm');
    document.getElementById('confirm-text').textContent = button.dataset.text;
    document.getElementById('confirm-ok').textContent = button.textContent;
    dialog.returnValue = '';
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener('close', () => resolve(dialog.returnValue === 'ok'), {once: true});
    });
  }

  async function act(button) {
    // Taken now, as a refresh may change the button.
    const {action, cancel, cache: subject} = button.dataset;
    if (!(await confirmed(button))) {
      return;
    }
    notices = notices.filter(({waiting}) => waiting.size > 0);
    if (cancel) {
      await send('DELETE', `${SERVER}tasks/${encodeURIComponent(cancel)}`);
      notice('The task is cancelled.');
    } else if (action === 'flush') {
      // Gerrit writes the cache of a plugin with a dash, this module with a dot.
      const name = encodeURIComponent(subject.replace(/\.(?=[^.]*$)/, '-'));
      await send('POST', `${SERVER}caches/${name}/flush`);
      notice(`${subject} is flushed.`);
    } else {
      const all = subject ? [subject] : (await getJson(`${API}caches`)).caches.map(({name}) => name);
      await start(action, all);
    }
    await refresh();
  }

  // Says something until the next act, beside what is said of work that goes on.
  function notice(text) {
    notices.push({text, waiting: new Map()});
    sayNotices();
  }

  function sayNotices() {
    if (notices.length > 0) {
      say(notices.map(({text}) => text).join(' '));
    }
  }

  // Of several caches, one may be gone or at work already: that is told at the end.
  async function start(work, caches) {
    const waiting = new Map();
    const others = [];
    for (const each of caches) {
      // A repair is a verify that drops what it finds damaged.
      const url = `${API}caches/${encodeURIComponent(each)}/${work === 'repair' ? 'verify' : work}`;
      try {
        const answer = await send('POST', url, JSON.stringify(work === 'repair' ? {repair: true} : {}));
        waiting.set(JSON.parse(answer.slice(4)).id, {cache: each, seen: false});
      } catch (error) {
        if (caches.length === 1 || ![404, 409].includes(error.status)) {
          throw error;
        }
        others.push(`${each}: ${error.message}`);
      }
    }
    if (waiting.size === 0) {
      throw new Error(others.join('; '));
    }
    const name = `The ${work} of ${caches.length === 1 ? caches[0] : `${caches.length} caches`}`;
    notices.push({text: `${name} is queued.`, name, caches, waiting, others});
    sayNotices();
    document.getElementById('tasks').scrollIntoView({block: 'nearest'});
  }

  // Says what came of the work that was started here.
  function sayEnds() {
    for (const run of notices.filter(({waiting}) => waiting.size > 0)) {
      const {name, caches, waiting, others} = run;
      let result = 'its end was not seen';
      for (const [id, task] of waiting) {
        const cells = document.querySelector(`#tasks [data-task="${CSS.escape(id)}"]`)?.closest('tr').children;
        const isOver = cells && cells[4].textContent.trim() !== '';
        // Gerrit may have restarted, and knows nothing of it.
        if (isOver || (!cells && task.seen)) {
          waiting.delete(id);
          result = isOver ? cells[5].textContent.trim() : result;
          if (result !== 'sound') {
            others.push(`${task.cache}: ${result}`);
          }
        }
        task.seen ||= Boolean(cells);
      }
      if (waiting.size === 0) {
        run.text = `${name} has ended: ${caches.length === 1 ? result : others.join('; ') || 'all are sound'}.`;
      } else if (caches.length > 1) {
        run.text = `${name} goes on; ${waiting.size} left.`;
      }
    }
    sayNotices();
  }

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button[data-action], button[data-cancel]');
    if (!button) {
      return;
    }
    act(button).catch((error) => notice(`Not done: ${error.message}`));
  });

  async function forever(work, millis) {
    let wait = millis;
    if (!document.hidden && !paused) {
      try {
        wait = (await work()) || millis;
        if (status.textContent.startsWith(OUT_OF_DATE)) {
          say('');
        }
      } catch (error) {
        say(`${OUT_OF_DATE}: ${error.message}`);
      }
    }
    setTimeout(() => forever(work, millis), wait);
  }

  pause.addEventListener('click', () => {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
  });
  setInterval(() => {
    const seconds = Math.round((Date.now() - updated) / 1000);
    age.textContent = `updated ${seconds} s ago${paused ? ', paused' : ''}`;
  }, 1000);

  document.documentElement.classList.add('script');
  localTimes(document);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    CHARTS.filter((chart) => chart.plot).forEach((chart) => draw(chart, chart.plot.data));
  });
  forever(drawAll, REFRESH_MILLIS);
  setTimeout(() => forever(refresh, REFRESH_MILLIS), REFRESH_MILLIS);
})();
