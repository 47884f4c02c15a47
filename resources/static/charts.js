// Copyright (C) 2026 The cache-chroniclemap authors
// SPDX-License-Identifier: Apache-2.0

// Draws the charts of the history, and knows how figures are written.
'use strict';

const Charts = (() => {
  const POWERS_OF_TWO = Array.from({length: 50}, (_, i) => 2 ** i);
  const DASHES = [[], [8, 3], [2, 3], [8, 3, 2, 3]];
  const LEGEND = ['solid', 'dashed', 'dotted', 'double'];

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
      title: 'Latency, 99th percentile',
      titleOfAll: 'Latency of the slowest cache, 99th percentile',
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

  function place(chart, parent, isOfAll) {
    parent.querySelector('.waiting')?.remove();
    const caption = document.createElement('figcaption');
    caption.textContent = (isOfAll && chart.titleOfAll) || chart.title;
    const plot = document.createElement('div');
    plot.className = 'plot';
    chart.place = document.createElement('figure');
    chart.place.append(caption, plot);
    parent.append(chart.place);
    new ResizeObserver(() => {
      chart.plot?.setSize({width: widthOf(chart.place), height: 200});
    }).observe(chart.place);
  }

  // Draws, for so many minutes, the charts of all groups of figures that the history has.
  function drawAll(history, minutes) {
    for (const chart of CHARTS) {
      const parent = document.getElementById(chart.into);
      // Two samples make the first line.
      if (!parent || !history[chart.group] || history.times.length < 2) {
        continue;
      }
      if (!chart.place) {
        place(chart, parent, Boolean(history.process));
      }
      const from = history.times[history.times.length - 1] - minutes * 60000;
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
  }

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    CHARTS.filter((chart) => chart.plot).forEach((chart) => draw(chart, chart.plot.data));
  });

  return {count, bytes, nanos, drawAll};
})();
