// Copyright (C) 2026 The cache-chroniclemap authors
// SPDX-License-Identifier: Apache-2.0

// Draws the page from the REST API, keeps it up to date, and sends the work that the buttons ask for.
'use strict';

(() => {
  const REFRESH_MILLIS = 5000;
  const ENDS = 20;
  const BAD_REFS = 10;
  const OUT_OF_DATE = 'The figures are out of date';
  const GERRIT = '../../';
  const SERVER = `${GERRIT}config/server/`;
  const API = `${SERVER}cache-chroniclemap~`;
  const LEVELS = {fine: 'Fine', was: 'Was wrong', limit: 'At its limit', now: 'Wrong now'};
  const SEVERITY = Object.keys(LEVELS);
  // Problems that concern each cache.
  const OF_EACH = ['all caches', 'shared values', 'this page'];
  const {count, bytes, nanos} = Charts;

  // What the address asks for, so that it survives a refresh and can be sent to others.
  const query = new URLSearchParams(location.search);
  const asked = Object.fromEntries(
    ['cache', 'sort', 'filter', 'all', 'minutes'].map((name) => [name, query.get(name) ?? '']),
  );
  // The time of the charts, and of the figures that are not of now; no line breaks within it.
  const TIMES = {5: '5\u00a0min', 60: '1\u00a0h', 480: '8\u00a0h'};
  const minutes = asked.minutes in TIMES ? Number(asked.minutes) : 60;
  const history = `${API}${asked.cache ? `caches/${encodeURIComponent(asked.cache)}/` : ''}history`;

  const status = document.getElementById('status');
  const verdict = document.getElementById('verdict');
  const age = document.getElementById('age');
  const pause = document.getElementById('pause');
  let main = document.getElementById('main');
  let rights = {};
  let shown;
  let samples;
  let notices = [];
  let paused = false;
  let updated = Date.now();

  // Makes an element. Texts become text nodes, so no name is ever markup.
  function el(name, attributes, ...children) {
    const isSvg = name === 'svg' || name === 'rect';
    const element = isSvg
      ? document.createElementNS('http://www.w3.org/2000/svg', name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value || value === 0) {
        element.setAttribute(key, value === true ? '' : value);
      }
    }
    element.append(...children.flat(Infinity).filter((child) => child || child === 0));
    return element;
  }

  // The address of this page with other choices. The time stays.
  function address(choices) {
    const given = Object.entries({minutes: asked.minutes, ...choices}).filter(([, value]) => value);
    return given.length > 0 ? `?${new URLSearchParams(given)}` : './';
  }

  function whole(value) {
    return value < 100000 ? String(value) : count(value);
  }

  function counted(value, one, many) {
    return `${value} ${value === 1 ? one : many}`;
  }

  function percent(part, all) {
    return all === 0 ? '' : `${Math.floor((100 * part) / all)}%`;
  }

  // As in gerrit.config, for some caches in bytes, for others in values.
  function setting(value) {
    const units = ['', 'k', 'm', 'g'];
    const unit = value < 10240 ? 0 : units.findLastIndex((_, i) => value % 1024 ** i === 0);
    return value / 1024 ** unit + units[unit];
  }

  // The names of figures end in their units.
  function text(name, value) {
    if (name === 'memory_limit') {
      return setting(value);
    }
    const unit = /(bytes|millis|micros|nanos)$/.exec(name)?.[1];
    const factor = {millis: 1e6, micros: 1e3, nanos: 1}[unit];
    return unit === 'bytes' ? bytes(value) : factor && value ? nanos(value * factor) : whole(value);
  }

  function figure(name, value) {
    return el('data', {value}, text(name, value));
  }

  // Gerrit's times are in UTC, and have nanoseconds.
  function dateOf(timestamp) {
    return new Date(`${timestamp.slice(0, 23).replace(' ', 'T')}Z`);
  }

  function time(timestamp) {
    const date = timestamp && dateOf(timestamp);
    return date && el('time', {datetime: date.toISOString()}, date.toLocaleString());
  }

  function hidden(words) {
    return el('span', {class: 'hidden'}, words);
  }

  // A name that may be broken where its words end.
  function breakable(name) {
    return name.split(/(?<=[._/-])/).flatMap((part) => [part, el('wbr', {})]);
  }

  function linkTo(cache) {
    return el('a', {href: address({cache})}, breakable(cache));
  }

  function button(label, more, dataset, question) {
    const data = Object.entries({...dataset, text: question});
    const attributes = Object.fromEntries(data.map(([key, value]) => [`data-${key}`, value]));
    return el('button', {type: 'button', ...attributes}, label, more && hidden(` ${more}`));
  }

  function heading(id, title, paragraph, badge) {
    return el(
      'h2',
      {id: `${id}-title`},
      title,
      badge && [' ', el('span', {class: `badge ${badge}`}, LEVELS[badge])],
      ' ',
      el(
        'a',
        {class: 'help', href: `Documentation/page.html#${paragraph ?? id}`, title: 'What this is'},
        el('span', {'aria-hidden': 'true'}, '?'),
        hidden(`About: ${title}`),
      ),
    );
  }

  function section(id, title, ...content) {
    return el('section', {id, 'aria-labelledby': `${id}-title`}, heading(id, title), content);
  }

  function note(...words) {
    return el('p', {class: 'note'}, words);
  }

  // A table that can be scrolled sideways with the keyboard. The first cell of a row names it.
  function table(label, columns, rows) {
    const kind = ({number, wide}) => [number && 'number', wide && 'wide'].filter(Boolean).join(' ');
    const isFolded = columns.some(({wide}) => wide);
    const head = columns.map((column) =>
      el(
        'th',
        {scope: 'col', class: kind(column), title: column.meaning, 'aria-sort': column.sorted},
        column.href ? el('a', {href: column.href}, column.text) : column.text,
        column.unit && el('small', {}, column.unit),
      ),
    );
    const cell = (content, i) =>
      i === 0
        ? el('th', {scope: 'row'}, content)
        : el('td', {class: kind(columns[i])}, content);
    return [
      isFolded && el('button', {type: 'button', class: 'narrow', 'data-columns': 'all'}, 'All columns'),
      el(
        'div',
        {class: 'scroll', role: 'region', 'aria-label': `${label}, table`, tabindex: '0'},
        el(
          'table',
          {},
          el('thead', {}, el('tr', {}, head)),
          el('tbody', {}, rows.map((row) => el('tr', {}, row.map(cell)))),
        ),
      ),
    ];
  }

  // Columns by their titles; those of figures start with #.
  function columns(titles) {
    return titles
      .split('|')
      .map((title) => ({text: title.replace('#', ''), number: title.startsWith('#')}));
  }

  // All figures of one thing, with what they mean.
  function figures(label, json, meanings) {
    const flat = Object.entries(json).flatMap(([name, value]) =>
      value && typeof value === 'object'
        ? Object.entries(value).map(([part, each]) => [`${name}_${part}`, each])
        : [[name, value]],
    );
    const rows = flat
      .filter(([name, value]) => typeof value === 'number' || name === 'last_parse')
      .map(([name, value]) => [
        name,
        name === 'last_parse' ? time(value) : figure(name, value),
        meanings[name] ?? meanings[name.replace(/_(micros|nanos)$/, '')],
      ]);
    return table(label, columns('Figure|#Value|Meaning'), rows);
  }

  function problemsOf(cache) {
    return shown.problems.filter(({subject}) => subject === cache);
  }

  function severity(cache) {
    return SEVERITY.indexOf(problemsOf(cache.name)[0]?.level ?? 'fine');
  }

  // A bar as wide as the limit, or as a file that exceeds it because the limit was lowered.
  function size(cache) {
    const all = Math.max(1, cache.limit_bytes, cache.disk_bytes) / 100;
    const part = (kind, value) => el('rect', {class: kind, width: value / all, height: 10});
    const sizes = [cache.live_bytes, cache.disk_bytes, cache.limit_bytes];
    return [
      el(
        'svg',
        {class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
        part('limit', 100 * all),
        cache.disk_bytes > 0 && part('disk', cache.disk_bytes),
        cache.live_bytes > 0 && part('live', cache.live_bytes),
      ),
      ' ',
      el('span', {}, sizes.map(bytes).join(' / ')),
    ];
  }

  // The rise of some figures within the chosen time. Before its first sample, since the start; the
  // figures of a plugin's cache start again at 0 when the plugin is loaded again.
  function rise(cache, ...names) {
    const before = shown.since.caches?.[cache.name];
    const rises = names.map((name) => [cache[name], cache[name] - (before?.[name] ?? 0)]);
    return rises.reduce((sum, [all, since]) => sum + (since < 0 ? all : since), 0);
  }

  function perSecond(value) {
    const {from, to} = shown.since;
    const seconds = from ? (dateOf(to) - dateOf(from)) / 1000 : 0;
    const each = value / seconds;
    if (seconds <= 0) {
      return '';
    }
    const small = each < 0.05 ? '<0.1' : each.toFixed(1);
    return each > 0 && each < 9.95 ? small : whole(Math.round(each));
  }

  function share(key, title, unit, meaning, wide, found, missed) {
    const all = (cache) => rise(cache, found, missed);
    return {
      key,
      text: title,
      unit: `${unit}, ${TIMES[minutes]}`,
      meaning,
      number: true,
      wide,
      of: (cache) => rise(cache, found) / Math.max(1, all(cache)),
      cell: (cache) => el('data', {value: rise(cache, found)}, percent(rise(cache, found), all(cache))),
    };
  }

  function rateColumn(key, title, meaning, ...names) {
    const of = (cache) => rise(cache, ...names);
    const cell = (cache) => perSecond(of(cache));
    return {
      key,
      text: title,
      unit: `a second, ${TIMES[minutes]}`,
      meaning,
      number: true,
      wide: true,
      of,
      cell,
    };
  }

  function numberColumn(key, title, unit, meaning, of) {
    const cell = (cache) => figure(key, of(cache));
    return {key, text: title, unit, meaning, number: true, wide: true, of, cell};
  }

  function start(cache) {
    return cache.state === 'failed' ? 'FAILED' : cache.last_start.kind;
  }

  const SUMMARY = ['size', 'entries', 'lookups', 'memory', 'disk', 'evicted', 'start'];
  // The columns of the table of caches: what each is sorted by, and its cells.
  const CACHES = [
    {
      key: 'cache',
      text: 'Cache',
      meaning: 'Choose one for its own page',
      of: ({name}) => name,
      cell: ({name}) => linkTo(name),
    },
    {
      key: 'problems',
      text: 'Problems',
      meaning: 'What is wrong with it; see above',
      of: severity,
      cell: (cache) => {
        const level = problemsOf(cache.name)[0]?.level;
        return level && el('span', {class: `level ${level}`}, LEVELS[level].toLowerCase());
      },
    },
    {
      key: 'size',
      text: 'Size',
      unit: 'live / on disk / limit',
      meaning: 'Keys and values; the file; its diskLimit',
      of: (cache) => cache.live_bytes,
      cell: size,
    },
    numberColumn('entries', 'Entries', 'on disk', 'Values in the file', ({entries}) => entries),
    {
      key: 'heap',
      text: 'In memory',
      unit: 'entries / limit',
      meaning: 'Values in memory; memoryLimit: values, or what they weigh',
      number: true,
      wide: true,
      of: ({heap_entries: entries}) => entries,
      cell: ({heap_entries: entries, memory_limit: limit}) => [
        figure('heap_entries', entries),
        ' / ',
        figure('memory_limit', limit),
      ],
    },
    rateColumn('lookups', 'Lookups', 'What Gerrit asks the cache for', 'heap_hits', 'heap_misses'),
    share(
      'memory',
      'Memory hits',
      'of lookups',
      'Lookups that found their value in memory',
      false,
      'heap_hits',
      'heap_misses',
    ),
    share(
      'disk',
      'Disk hits',
      'of reads',
      'Reads, of what was not in memory, that found their value in the file',
      true,
      'disk_hits',
      'disk_misses',
    ),
    {
      key: 'read',
      text: 'Read',
      unit: '99 %, last minutes',
      meaning: '99 of 100 reads from the file took at most so long',
      number: true,
      wide: true,
      of: (cache) => cache.read_latency.p99_nanos,
      cell: ({read_latency: {p99_nanos: value}}) => el('data', {value}, value > 0 && nanos(value)),
    },
    rateColumn('puts', 'Puts', 'Values written to the file', 'puts'),
    numberColumn('evicted', 'Evicted', TIMES[minutes], 'Values that made room for others', (cache) =>
      rise(cache, 'evicted'),
    ),
    {
      key: 'start',
      text: 'Start',
      meaning: 'How its file was found at the start',
      wide: true,
      of: start,
      cell: start,
    },
  ];

  function compare(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
  }

  // Of names the first ones come first, of all others what is most.
  function sortable(column) {
    const now = asked.sort || 'cache';
    const isUp = now === column.key;
    const isDown = now === `-${column.key}`;
    const next = isDown || (!isUp && column.key === 'cache') ? column.key : `-${column.key}`;
    const href = address({sort: next, filter: asked.filter, all: asked.all});
    return {...column, href, sorted: isDown ? 'descending' : isUp ? 'ascending' : 'none'};
  }

  function rows(caches) {
    const {of} = CACHES.find(({key}) => key === asked.sort.replace(/^-/, '')) ?? CACHES[0];
    const direction = asked.sort.startsWith('-') ? -1 : 1;
    return caches
      .toSorted((a, b) => direction * compare(of(a), of(b)) || compare(a.name, b.name))
      .map((cache) => CACHES.map(({cell}) => cell(cache)));
  }

  function isUnused(cache) {
    return cache.entries + cache.heap_hits + cache.heap_misses === 0 && severity(cache) === 0;
  }

  function caches() {
    const part = asked.filter.toLowerCase();
    const named = shown.caches.filter(({name}) => name.toLowerCase().includes(part));
    const used = named.filter((cache) => asked.all || !isUnused(cache));
    const others = shown.caches.length - named.length;
    const unused = named.length - used.length;
    const keep = (name) => asked[name] && el('input', {type: 'hidden', name, value: asked[name]});
    const sum = (name) => shown.caches.reduce((total, cache) => total + cache[name], 0);
    return section(
      'caches',
      'Caches',
      el(
        'form',
        {class: 'filter', method: 'get', action: './', role: 'search'},
        ['sort', 'all', 'minutes'].map(keep),
        el(
          'label',
          {},
          'Name contains ',
          el('input', {type: 'search', name: 'filter', value: asked.filter, maxlength: 100}),
        ),
        ' ',
        el('button', {}, 'Filter'),
        others > 0 && hintOf(others, 'other has another name', 'others have other names'),
        (unused > 0 || asked.all) && [
          ' ',
          el(
            'a',
            {href: address({sort: asked.sort, filter: asked.filter, all: asked.all ? '' : 1})},
            asked.all
              ? 'Fold unused caches'
              : `Show ${counted(unused, 'unused cache', 'unused caches')}`,
          ),
        ],
      ),
      table('Caches', CACHES.map(sortable), rows(used)),
      note(
        `${counted(shown.caches.length, 'cache', 'caches')}: entries ${whole(sum('entries'))}, `,
        `${bytes(sum('live_bytes'))} live, ${bytes(sum('disk_bytes'))} on disk. `,
        `Expired since the start: ${whole(sum('expired'))}; `,
        `queued for writing now: ${whole(sum('queued'))}.`,
        shown.directory && [' Files in ', el('code', {}, shown.directory), '.'],
      ),
      shown.directory &&
        button(
          'Verify all',
          '',
          {action: 'verify'},
          'Read and check all entries of all caches, one cache after the other? Requests go on meanwhile.',
        ),
    );
  }

  function hintOf(value, one, many) {
    return [' ', el('span', {class: 'note'}, `${counted(value, one, many)}.`)];
  }

  function problem(each) {
    const {subject} = each;
    const isCache = shown.caches.some(({name}) => name === subject);
    return el(
      'li',
      {class: each.level},
      el('strong', {}, LEVELS[each.level].toLowerCase()),
      ' ',
      isCache && !asked.cache ? linkTo(subject) : subject,
      `: ${each.text}`,
      each.last && [', last ', time(each.last)],
      `. ${each.meaning} `,
      each.repairable &&
        rights.maintainServer &&
        button(
          'Repair',
          subject,
          {action: 'repair', cache: subject},
          `Drop the damaged entries of ${subject}? All others stay. Requests go on meanwhile.`,
        ),
      ' ',
      el(
        'a',
        {href: `Documentation/page.html#${each.paragraph}`},
        'What to do',
        hidden(` about ${each.text} of ${subject}`),
      ),
    );
  }

  function problemsShown() {
    return asked.cache
      ? shown.problems.filter(({subject}) => [asked.cache, ...OF_EACH].includes(subject))
      : shown.problems;
  }

  function state() {
    const problems = problemsShown();
    return el(
      'section',
      {id: 'state', 'aria-labelledby': 'state-title'},
      heading('state', asked.cache || 'State', 'state', problems[0]?.level ?? 'fine'),
      problems.length > 0
        ? el('ul', {class: 'problems'}, problems.map(problem))
        : note(
            'Nothing has failed since the start, and no damaged entry is known.',
            shown.directory && [' ', el('i', {}, 'Verify'), ' looks for any.'],
          ),
    );
  }

  function actions() {
    const {cache} = asked;
    const isSessions = cache === 'web_sessions';
    return el(
      'section',
      {id: 'actions', 'aria-label': `Work on ${cache}`},
      button(
        'Verify',
        '',
        {action: 'verify', cache},
        `Read and check all entries of ${cache}? Requests go on meanwhile.`,
      ),
      rights[isSessions ? 'maintainServer' : 'flushCaches'] &&
        button(
          'Flush',
          '',
          {action: 'flush', cache},
          isSessions
            ? 'Sign everybody out, you as well?'
            : `Remove all values of ${cache}? They are computed again when they are needed.`,
        ),
    );
  }

  // What all caches together did, and take.
  function totals() {
    const {caches: all, process} = shown;
    const sum = (of) => all.reduce((total, cache) => total + of(cache), 0);
    const of = (...names) => sum((cache) => rise(cache, ...names));
    const figuresOf = (found, missed) => percent(of(found), of(found, missed)) || '0%';
    const tiles = [
      ['Disk', bytes(sum((cache) => cache.disk_bytes)), 'of all files'],
      ['Memory', bytes(process.heap_bytes + process.direct_bytes), 'heap and direct'],
      ['Memory hits', figuresOf('heap_hits', 'heap_misses'), TIMES[minutes]],
      ['Disk hits', figuresOf('disk_hits', 'disk_misses'), TIMES[minutes]],
      ['Loads', whole(of('disk_misses')), TIMES[minutes]],
      ['Evicted', whole(of('evicted')), TIMES[minutes]],
    ];
    return el(
      'dl',
      {id: 'totals', 'aria-label': 'All caches together'},
      tiles.map(([name, value, unit]) =>
        el('div', {}, el('dt', {}, name), el('dd', {}, value, ' ', el('small', {}, unit))),
      ),
    );
  }

  function isShown(cache) {
    return !asked.cache || asked.cache === cache;
  }

  // What came of work, as its event tells.
  function outcome({result: {result, detail}}) {
    return detail ? `${result}: ${detail}` : result;
  }

  function tasks() {
    const ends = shown.events.filter(({task, subject}) => task && isShown(subject));
    const ended = new Set(ends.map(({task}) => task));
    const left = shown.tasks.filter(({id, cache}) => isShown(cache) && !ended.has(id)).reverse();
    const mayCancel = rights.killTask && rights.viewQueue;
    const going = left.map(({id, work, cache, by, start: begun, state: now, progress}) => {
      const what = `the ${work} of ${cache}`;
      const cancel =
        mayCancel &&
        now !== 'ending' &&
        button('Cancel', what, {cancel: id}, `Cancel ${what}? What is done so far stays.`);
      return [work, cache, by, time(begun), '', [`${now} ${progress} `, cancel]];
    });
    const done = ends
      .slice(0, ENDS)
      .map((event) => [
        event.kind,
        event.subject,
        event.by,
        time(event.from),
        time(event.to),
        outcome(event),
      ]);
    return section(
      'tasks',
      'Tasks',
      going.length + done.length > 0
        ? table('Tasks', columns('Work|Cache|User|Start|End|Result'), [...going, ...done])
        : note('Nothing was started here, by REST or by SSH since the start of the server.'),
    );
  }

  function charts(id, title) {
    return el(
      'section',
      {id, class: 'charts', 'aria-labelledby': `${id}-title`},
      heading(id, title, 'charts'),
      el('p', {class: 'note waiting'}, 'The first lines come one minute after the start.'),
    );
  }

  // The choice of the time of all figures and charts.
  function times() {
    const {sort, filter, all, cache} = asked;
    return Object.entries(TIMES).map(([each, label]) => {
      const href = address({cache, sort, filter, all, minutes: each});
      return el('a', {href, 'aria-current': Number(each) === minutes && 'true'}, label);
    });
  }

  function ranges() {
    return el(
      'section',
      {id: 'cache-history'},
      el(
        'p',
        {class: 'ranges'},
        'Save all eight hours as ',
        el('button', {type: 'button', 'data-save': 'csv'}, 'CSV'),
        ' or ',
        el('a', {href: history}, 'JSON'),
        '.',
      ),
    );
  }

  function events() {
    const title = 'What happened since the start';
    const kinds = new Map();
    for (const event of shown.events.filter(({subject}) => isShown(subject))) {
      const {kind, text: words} = event;
      const key = `${kind} ${words}`;
      kinds.set(key, [...(kinds.get(key) ?? []), event]);
    }
    // Gerrit's times are in the order of their texts.
    const rowsOf = [...kinds.values()].map((all) => [
      time(all.map(({to}) => to).sort().at(-1)),
      time(all.map(({from}) => from).sort()[0]),
      [...new Set(all.map(({subject}) => subject))].map((name, i) => [i > 0 && ', ', breakable(name)]),
      figure(
        'count',
        all.reduce((sum, {count: each}) => sum + each, 0),
      ),
      all[0].text,
    ]);
    return section(
      'events',
      title,
      rowsOf.length > 0
        ? table(title, columns('Last seen|First seen|Where|#Count|What'), rowsOf)
        : note('Nothing: no recovery, eviction, flush, fault or damaged entry.'),
    );
  }

  function refs() {
    const title = 'Parsed ref lists';
    if (!shown.refs) {
      return section('refs', title, el('p', {}, shown.no_refs_reason));
    }
    const {totals, projects: byName} = shown.refs;
    const projects = Object.values(byName);
    const titles =
      'Project|#Refs|#packed-refs|#Off heap|#Bytes a ref|#Parses|#Files read|#Lookups|Last parse';
    const row = (project) => [
      project.name,
      ...['refs', 'packed_bytes', 'off_heap_bytes'].map((name) => figure(name, project[name])),
      project.bytes_a_ref && whole(Math.round(project.bytes_a_ref)),
      ...['parses', 'checks', 'lookups'].map((name) => figure(name, project[name])),
      time(project.last_parse),
    ];
    const notes = projects.flatMap(({name, left_reason: why, bad_refs: bad}) => [
      why && `JGit answers for ${name}: ${why}.`,
      ...bad.slice(0, BAD_REFS).map((each) => `Bad ref in ${name}: ${each}.`),
    ]);
    const onHeap = totals.memory_only_reason;
    return section(
      'refs',
      title,
      table('Projects', columns(titles), projects.map(row)),
      note(
        'These are the projects with most lookups; the SSH command ',
        el('code', {}, 'refs'),
        ' shows all.',
      ),
      onHeap && note(`Lists are kept in memory only: ${onHeap}`),
      notes.filter(Boolean).map((each) => note(each)),
      el(
        'details',
        {},
        el('summary', {}, 'All figures of lists, pushes and fetches'),
        figures('All figures of lists, pushes and fetches', totals, shown.meanings.refs),
      ),
    );
  }

  function shared() {
    const isWrong = shown.problems.some(({subject}) => subject === 'shared values');
    return el(
      'section',
      {id: 'shared', 'aria-labelledby': 'shared-title'},
      heading('shared', 'Shared values', 'shared-values'),
      el(
        'details',
        {open: isWrong},
        el('summary', {}, 'All figures of shared values'),
        figures('Shared values', shown.shared, shown.meanings.shared),
      ),
    );
  }

  function memory() {
    return section('memory', 'Memory', el('div', {id: 'memory-charts', class: 'charts'}));
  }

  function pageOfAll() {
    const hasCaches = shown.directory || shown.memory_only_reason;
    return [
      state(),
      hasCaches && totals(),
      hasCaches && [caches(), tasks(), charts('cache-charts', 'All caches, history'), ranges()],
      events(),
      refs(),
      shown.refs && charts('refs-charts', 'Refs, history'),
      shown.shared && shared(),
      memory(),
    ];
  }

  function pageOf(cache) {
    const {name} = cache;
    const summary = CACHES.filter(({key}) => SUMMARY.includes(key));
    return [
      el('p', {class: 'back'}, el('a', {href: address({})}, 'All caches')),
      state(),
      actions(),
      el(
        'section',
        {id: 'summary', 'aria-label': `${name}, summary`},
        table(`${name}, summary`, summary, [summary.map(({cell}) => cell(cache))]),
      ),
      tasks(),
      charts('cache-charts', `${name}, history`),
      ranges(),
      events(),
      section(
        'figures',
        `All figures of ${name}`,
        figures(`All figures of ${name}`, cache, shown.meanings.caches),
      ),
    ];
  }

  // Changes only what differs, so that the focus, the scrolling and a selection stay.
  function morph(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
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

  async function ask(url, options) {
    const response = await fetch(url, options);
    const answer = (await response.text()).trim();
    if (!response.ok) {
      const error = new Error(answer || `status ${response.status}`);
      throw Object.assign(error, {status: response.status});
    }
    // Gerrit puts )]}' in front of JSON, so that no other site can run it as a script.
    return answer.startsWith(")]}'") ? JSON.parse(answer.slice(4)) : answer;
  }

  // Gerrit gives the token that changes need, as a cookie, to whoever opens a page of its own.
  async function send(method, url, body) {
    await fetch(GERRIT, {cache: 'no-store'});
    const token = /(?:^|; )XSRF_TOKEN=([^;]*)/.exec(document.cookie)?.[1] ?? '';
    const headers = {'X-Gerrit-Auth': token, ...(body && {'Content-Type': 'application/json'})};
    return ask(url, {method, headers, body: body && JSON.stringify(body)});
  }

  function say(words) {
    if (status.textContent !== words) {
      status.textContent = words;
    }
  }

  async function refresh() {
    shown = await ask(`${API}overview?minutes=${minutes}`);
    shown.caches = Object.values(shown.caches);
    const cache = shown.caches.find(({name}) => name === asked.cache);
    if (asked.cache && !cache) {
      throw Object.assign(new Error('this cache is gone'), {status: 404});
    }
    updated = Date.now();
    document.getElementById('version').textContent = shown.version;
    const fresh = el('main', {id: 'main'}, cache ? pageOf(cache) : pageOfAll());
    morph(main, fresh);
    sayVerdict();
    sayEnds();
  }

  // In the head, which stays in view.
  function sayVerdict() {
    const level = problemsShown()[0]?.level ?? 'fine';
    verdict.className = `badge ${level}`;
    verdict.textContent = LEVELS[level];
    verdict.hidden = false;
  }

  async function drawAll() {
    samples = await ask(history);
    samples.times = samples.times.map((timestamp) => dateOf(timestamp).getTime());
    Charts.drawAll(samples, minutes);
    return samples.interval_millis;
  }

  function saveCsv() {
    const {times, caches: all} = samples;
    const names = Object.keys(all);
    const lines = times.map((millis, i) => [
      new Date(millis).toISOString(),
      ...names.map((name) => all[name][i]),
    ]);
    const csv = [['time', ...names], ...lines].map((line) => `${line.join(',')}\n`);
    const href = URL.createObjectURL(new Blob(csv, {type: 'text/csv'}));
    el('a', {href, download: 'cache-chroniclemap.csv'}).click();
    URL.revokeObjectURL(href);
  }

  function confirmed({dataset, firstChild}) {
    const dialog = document.getElementById('confirm');
    document.getElementById('confirm-text').textContent = dataset.text;
    document.getElementById('confirm-ok').textContent = firstChild.textContent;
    dialog.returnValue = '';
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener('close', () => resolve(dialog.returnValue === 'ok'), {once: true});
    });
  }

  async function act(pressed) {
    // Taken now, as a refresh may change the button.
    const {action, cancel, cache} = pressed.dataset;
    if (!(await confirmed(pressed))) {
      return;
    }
    notices = notices.filter(({waiting}) => waiting.size > 0);
    if (cancel) {
      await send('DELETE', `${SERVER}tasks/${encodeURIComponent(cancel)}`);
      notice('The task is cancelled.');
    } else if (action === 'flush') {
      // Gerrit writes the cache of a plugin with a dash, this module with a dot.
      const name = encodeURIComponent(cache.replace(/\.(?=[^.]*$)/, '-'));
      await send('POST', `${SERVER}caches/${name}/flush`);
      notice(`${cache} is flushed.`);
    } else {
      await begin(action, cache ? [cache] : shown.caches.map(({name}) => name));
    }
    await refresh();
  }

  // Says something until the next act, beside what is said of work that goes on.
  function notice(words) {
    notices.push({text: words, waiting: new Map()});
    sayNotices();
  }

  function sayNotices() {
    if (notices.length > 0) {
      say(notices.map((each) => each.text).join(' '));
    }
  }

  // Of several caches, one may be gone or at work already: that is told at the end.
  async function begin(work, all) {
    const waiting = new Map();
    const others = [];
    for (const each of all) {
      // A repair is a verify that drops what it finds damaged.
      const isRepair = work === 'repair';
      const url = `${API}caches/${encodeURIComponent(each)}/${isRepair ? 'verify' : work}`;
      try {
        const task = await send('POST', url, isRepair ? {repair: true} : {});
        waiting.set(task.id, {cache: each, seen: false});
      } catch (error) {
        if (all.length === 1 || ![404, 409].includes(error.status)) {
          throw error;
        }
        others.push(`${each}: ${error.message}`);
      }
    }
    if (waiting.size === 0) {
      throw new Error(others.join('; '));
    }
    const name = `The ${work} of ${all.length === 1 ? all[0] : `${all.length} caches`}`;
    notices.push({text: `${name} is queued.`, name, all, waiting, others});
    sayNotices();
    document.getElementById('tasks').scrollIntoView({block: 'nearest'});
  }

  // Says what came of the work that was started here.
  function sayEnds() {
    for (const run of notices.filter(({waiting}) => waiting.size > 0)) {
      const {name, all, waiting, others} = run;
      let result = 'its end was not seen';
      for (const [id, task] of waiting) {
        const end = shown.events.find((event) => event.task === id);
        const goesOn = shown.tasks.some((each) => each.id === id);
        // Gerrit may have restarted, and knows nothing of it.
        if (end || (!goesOn && task.seen)) {
          waiting.delete(id);
          result = end ? outcome(end) : result;
          if (result !== 'sound') {
            others.push(`${task.cache}: ${result}`);
          }
        }
        task.seen ||= goesOn;
      }
      if (waiting.size === 0) {
        run.text = `${name} has ended: ${all.length === 1 ? result : others.join('; ') || 'all are sound'}.`;
      } else if (all.length > 1) {
        run.text = `${name} goes on; ${waiting.size} left.`;
      }
    }
    sayNotices();
  }

  document.addEventListener('click', ({target}) => {
    const pressed = target.closest('button');
    if (pressed?.dataset.columns) {
      document.body.classList.toggle('all-columns');
    } else if (pressed?.dataset.save && samples) {
      saveCsv();
    } else if (pressed?.dataset.text) {
      act(pressed).catch((error) => notice(`Not done: ${error.message}`));
    }
  });

  async function forever(work, millis) {
    let wait = millis;
    if (!document.hidden && !paused) {
      try {
        wait = (await work()) || millis;
        if (work === refresh && status.textContent.startsWith(OUT_OF_DATE)) {
          say('');
        }
      } catch (error) {
        const isSignedOut = error.status === 403;
        say(`${OUT_OF_DATE}: ${isSignedOut ? 'reload the page, and sign in again' : error.message}`);
      }
    }
    setTimeout(() => forever(work, millis), wait);
  }

  function refuse(title, words, href, link) {
    main.replaceChildren(el('h2', {}, title), el('p', {}, words));
    if (href) {
      main.append(el('p', {}, el('a', {href}, link)));
    }
  }

  async function run() {
    let isSignedIn = true;
    try {
      rights = await ask(`${GERRIT}accounts/self/capabilities`);
    } catch (error) {
      isSignedIn = error.status !== 403;
    }
    try {
      await refresh();
    } catch (error) {
      if (error.status === 403) {
        const needs = 'This page needs the global capability View Caches or Maintain Server.';
        const way = 'An administrator can grant it in the rights of All-Projects.';
        const back = encodeURIComponent(`plugins/cache-chroniclemap/${location.search}`);
        if (isSignedIn) {
          refuse('Not permitted', `${needs} ${way}`);
        } else {
          refuse('Sign in', needs, `${GERRIT}login/${back}`, 'Sign in');
        }
        return;
      }
      if (error.status === 404) {
        const words = `There is no cache "${asked.cache}" on disk.`;
        refuse('No such cache', words, address({}), 'All caches');
        return;
      }
      say(`${OUT_OF_DATE}: ${error.message}`);
    }
    document.getElementById('refreshing').hidden = false;
    document.getElementById('times').replaceChildren(...times());
    pause.addEventListener('click', () => {
      paused = !paused;
      pause.setAttribute('aria-pressed', String(paused));
    });
    setInterval(() => {
      const seconds = Math.round((Date.now() - updated) / 1000);
      age.textContent = `updated ${seconds} s ago${paused ? ', paused' : ''}`;
    }, 1000);
    forever(drawAll, REFRESH_MILLIS);
    setTimeout(() => forever(refresh, REFRESH_MILLIS), REFRESH_MILLIS);
  }

  document.title = asked.cache ? `${asked.cache} - cache-chroniclemap` : document.title;
  run();
})();
