// Shows a results document: the answer, its operations, and one phase after the other in pictures.
(function (testbed) {
  'use strict';

  const {h, figure, derived, table, fold, plot, count, counted, short, bytes, time, percent, line} = testbed;

  function pointer(run, phase, rest) { return `/runs/${run}/phases/${phase}${rest}`; }

  function phaseTitle(document, run, phase) {
    return `${phase.name}, ${testbed.clientsOf(run, phase)}${testbed.whichRun(run)}`;
  }

  function documentTitle(document) {
    const run = (document.runs || [])[0] || {};
    const version = run.engine && run.engine.version ? ' ' + run.engine.version : '';
    return line(testbed.engineName(run, document) + version);
  }

  // Returns one line with the options that matter most to a reader.
  function settingsLine(document) {
    const o = document.options || {};
    const share = o.ram > 0 ? `cache ${bytes(o.cache_size)} of ${bytes(o.ram)}` : `cache ${bytes(o.cache_size)}`;
    const size = document.data ? document.data.key_bytes + document.data.value_bytes : null;
    return [`io ${o.io}`, `page ${bytes(o.page_size)}`, share, `durability ${o.durability}`, `compression ${o.compression}`,
            size ? `${counted(count(document.data.rows), 'row')}, ${bytes(size)}` : ''].filter((s) => s).map(line).join(' · ');
  }

  // Returns the rows that `ofOperation` makes of each operation of each phase with results; null makes no row. A phase of
  // several operations has a row before theirs, which `ofPhase` makes: figures of the phase as a whole, such as its CPU, are
  // of no operation alone.
  function operationRows(entry, ofPhase, ofOperation) {
    return entry.document.runs.flatMap((run, r) => testbed.resultPhases(run).flatMap((p) => {
      const phase = run.phases[p], several = phase.operations.length > 1, named = (name) => line(name + testbed.whichRun(run));
      const whole = several ? [ofPhase({r, p, phase, name: named(`${phase.name}: all operations`), at: (rest) => pointer(r, p, rest)})] : [];
      return whole.concat(phase.operations.map((op, o) => {
        const name = several || op.name !== phase.name ? `${phase.name}: ${op.name}` : phase.name;
        return ofOperation({r, p, phase, op, several, name: named(name), at: (rest) => pointer(r, p, `/operations/${o}${rest}`)});
      }));
    })).filter((row) => row);
  }

  // Returns cells without a figure, of columns that are another row's.
  function blanks(n) { return Array.from({length: n}, () => h('td')); }

  // Returns the number of clients in the phase of the row, which several tasks may have had together.
  function clientsCell(entry, {r, p, phase}) {
    return figure(entry, (phase.tasks || []).length > 1 ? pointer(r, p, '/threads') : `/runs/${r}/threads`, count);
  }

  function latencyCells(entry, row, latency) {
    return ['mean', 'p50', 'p99', 'p999', 'max'].map((f) => testbed.tells(row.op, f, latency) ? figure(entry, row.at(`/${latency}/${f}`), time)
                                                                                       : derived('–', 'fewer than ten operations took longer'));
  }

  // Returns the table of operations. A click in its first column chooses the phase that is shown.
  function operationsTable(entry, choose) {
    const choice = ({r, p, name}) => h('button', {type: 'button', class: 'choose', 'data-run': r, 'data-phase': p, 'aria-pressed': 'false',
                                                  onclick: () => choose(r, p)}, name);
    const make = (row, label, latencies, cpu) =>
      h('tr', {'data-row': `${row.r}/${row.p}`}, h('th', {scope: 'row'}, label), clientsCell(entry, row), figure(entry, row.at('/count'), count),
        figure(entry, row.at('/rate'), short), latencies, cpu);
    const rows = operationRows(entry, (row) => make(row, choice(row), blanks(5), cpuCell(row.phase)), (row) =>
      make(row, row.several ? row.name : choice(row), latencyCells(entry, row, 'latency_us'), row.several ? blanks(1) : cpuCell(row.phase)));
    return table('Operations', ['phase', 'clients', 'count', 'per second', 'mean', 'median', '99 %', '99.9 %', 'slowest', 'CPU each'], rows);
  }

  // Returns the table of the latencies from the intended start; null when no loop was open.
  function intendedTable(entry) {
    const seconds = (s) => time(s * 1e6);
    // What the phase was asked for and reached, and how late its operations were.
    const asked = ({r, p}) => figure(entry, pointer(r, p, '/target_rate'), short);
    const reached = ({r, p, phase}) => figure(entry, pointer(r, p, phase.clients_rate === undefined ? '/rate' : '/clients_rate'), short);
    const late = ({r, p}) => [figure(entry, pointer(r, p, '/lateness_us/p50'), time), figure(entry, pointer(r, p, '/lateness_us/p99'), time),
                              figure(entry, pointer(r, p, '/undone_operations'), count), figure(entry, pointer(r, p, '/backlog_seconds'), seconds)];
    const make = (row, ...cells) => h('tr', {}, h('th', {scope: 'row'}, row.name), clientsCell(entry, row), cells);
    const rated = (row) => row.phase.target_rate !== undefined;
    const rows = operationRows(entry, (row) => {
      if (!testbed.isOpen(row.phase)) return null;
      return make(row, rated(row) ? [asked(row), reached(row)] : blanks(2), blanks(5), late(row));
    }, (row) => {
      if (!row.op.latency_from_intended_us) return null;
      const own = row.several || !rated(row) ? figure(entry, row.at('/rate'), short) : reached(row);
      return make(row, row.several ? blanks(1) : asked(row), own, latencyCells(entry, row, 'latency_from_intended_us'), row.several ? blanks(4) : late(row));
    });
    if (rows.length === 0) return null;
    const heads = ['phase', 'clients', 'asked for', 'reached', 'mean', 'median', '99 %', '99.9 %', 'slowest', 'late, median', 'late, 99 %', 'not begun', 'backlog'];
    return table('Latency from the intended start', heads, rows);
  }

  // Returns what --find-rate tried: latency over the rate, and a row for each rate; null without a search.
  function rateSearches(entry) {
    const parts = (entry.document.runs || []).flatMap((run, r) => (run.find_rate || []).map((found, f) => {
      const name = line(phaseTitle(entry.document, run, found));
      const picture = plot('Latency over the rate', `${name}, ${line(found.limit)}: latency from the intended start at each rate that was tried.`,
                           (theme, width) => testbed.ratePlot(found, theme, width));
      const figures = testbed.rateFigures(found), rows = testbed.rateOrder(found).map((s) => {
        const step = found.steps[s], open = typeof step.target_rate === 'number', at = (rest) => `/runs/${r}/find_rate/${f}/steps/${s}${rest}`;
        const chosen = open && step.target_rate === found.found_rate, meets = !step.meets ? 'no' : chosen ? 'yes, found' : 'yes';
        return h('tr', {}, h('th', {scope: 'row'}, open ? short(step.target_rate) : 'closed loop'), figure(entry, at('/rate'), short),
                 figure(entry, at('/seconds'), (x) => time(x * 1e6)), figure(entry, at('/count'), count),
                 figures.map((one) => testbed.stepTells(step, one.share) ? figure(entry, at('/' + one.figure), time)
                                                                         : derived('–', 'fewer than ten operations took longer')),
                 figure(entry, at('/max_us'), time), figure(entry, at('/slower_share'), percent),
                 derived(!open ? '–' : step.kept_up === false ? 'no, fell behind' : meets));
      });
      const heads = ['asked for', 'reached', 'measured for', 'count', ...figures.map((one) => one.name), 'slowest', 'slower than the limit', 'meets it'];
      return [picture, table('Rates that --find-rate tried: ' + name, heads, rows)];
    }));
    return parts.length === 0 ? null : h('section', {}, h('h3', {}, 'The rate that meets the limit'), parts);
  }

  function cpuCell(phase) {
    const a = phase.account || {};
    const us = (a.cpu_user_seconds + a.cpu_system_seconds) * 1e6 / testbed.charged(phase);
    return derived(isFinite(us) ? time(us) : '–', 'CPU time of the run, divided by the operations of the phase');
  }

  function levelTable(entry, r, p, way) {
    const phase = entry.document.runs[r].phases[p];
    const levels = testbed.levels(phase, way), n = testbed.charged(phase);
    if (levels.length < 2) return null;
    let before = null;
    const rows = levels.map((level) => {
      const each = n > 0 && !level.aside, ratio = before && level.bytes !== null && !level.aside ? level.bytes / before : null;
      if (level.bytes !== null && !level.aside) before = level.bytes;
      const exact = level.source && testbed.at(phase, level.source) === level.calls;
      const calls = exact ? figure(entry, pointer(r, p, level.source), count) : derived(count(level.calls));
      return h('tr', {class: level.aside ? 'aside' : null}, h('th', {scope: 'row'}, level.name), calls,
               derived(each ? short(level.calls / n) : '–'), derived(level.bytes === null ? '–' : bytes(level.bytes)),
               derived(level.bytes === null || !each ? '–' : bytes(level.bytes / n)),
               derived(ratio === null ? '' : '× ' + short(ratio), 'bytes, against the step above'), h('td', {class: 'words'}, level.note));
    });
    return table(way === 'read' ? 'Reads, step by step' : 'Writes, step by step',
                 ['step', 'times', 'times / operation', 'bytes', 'bytes / operation', 'against the step above', 'of it'], rows);
  }

  function closureText(phase) {
    const closure = (phase.account || {}).closure;
    if (!closure) return 'Not known: the kernel\u2019s account was not kept in this run.';
    return `All threads − device = ${testbed.closureParts(closure).join(', ')}.` + (closure.at_rest === false ? ' The device did not come to rest.' : '');
  }

  function ledger(entry, r, p) {
    const run = entry.document.runs[r], phase = run.phases[p], engine = testbed.engineName(run, entry.document);
    const parts = ['read', 'write'].map((way) => {
      const picture = plot(way === 'read' ? 'Where reads come from' : 'Where writes go',
                           'Widths are bytes of the whole phase; colours are the work that caused them.',
                           (theme, width) => testbed.ledgerPlot(phase, engine, way, theme, width), true);
      return picture && [picture, levelTable(entry, r, p, way)];
    }).filter((part) => part);
    if (parts.length === 0) return null;
    const grade = phase.grade || (run.accounting || {}).grade;
    return h('section', {}, h('h3', {}, 'The ledger'), parts,
             h('p', {class: 'closure'}, h('strong', {}, 'Closure. '), closureText(phase),
               grade ? [' ', h('span', {class: 'grade'}, 'Grade ' + grade)] : null));
  }

  const memoryParts = [['engine_cache', 'engine\u2019s cache'], ['process_other', 'the process otherwise'], ['page_cache', 'page cache'],
                       ['kernel', 'kernel'], ['unused', 'unused'], ['limit', 'all of --ram']];

  function memory(entry, r, p) {
    const phase = entry.document.runs[r].phases[p];
    const over = plot('Memory by part', null, (theme, width) => testbed.memoryPlot(phase, theme, width));
    const rows = phase.memory ? memoryParts.filter(([name]) => typeof phase.memory[name] === 'number').map(([name, says]) =>
      h('tr', {class: name === 'limit' ? 'total' : null}, h('th', {scope: 'row'}, says), figure(entry, pointer(r, p, '/memory/' + name), bytes),
        derived(percent(phase.memory[name] / phase.memory.limit)))) : [];
    if (!over && rows.length === 0) return null;
    return h('section', {}, h('h3', {}, 'Memory'), over, rows.length > 0 ? table('At the end of the phase', ['part', 'bytes', 'share'], rows, {class: 'narrow'}) : null);
  }

  function space(entry, r) {
    const run = entry.document.runs[r];
    const rows = testbed.spaceRows(entry.document, run).map((row) =>
      h('tr', {}, h('th', {scope: 'row'}, 'after ' + line(row.name)), derived(bytes(row.data)),
        figure(entry, pointer(r, row.index, '/log_file_bytes'), bytes), figure(entry, pointer(r, row.index, '/database_bytes'), bytes),
        derived(row.times === null ? '–' : '× ' + short(row.times), 'bytes of data on disk, those of the log apart, against the keys and values that were loaded')));
    if (rows.length === 0) return null;
    return h('section', {}, h('h3', {}, 'Space'),
             plot('Space by part', 'What the database had on disk at the end of each phase, by kind of file.',
                  (theme, width) => testbed.spacePlot(entry.document, run, theme, width)),
             table('On disk', ['when', 'data', 'log files', 'all', 'of the data set'], rows, {class: 'narrow'}));
  }

  function phaseView(entry, r, p) {
    const run = entry.document.runs[r], phase = run.phases[p];
    const stalls = testbed.stalls(phase.series), open = testbed.isOpen(phase) ? ' From the intended start.' : '';
    const joined = (phase.series || {}).joined > 1 ? `Each point joins ${phase.series.joined} seconds: rates are means, latencies the largest. ` : '';
    return h('article', {class: 'phase'},
             h('h3', {}, line(phaseTitle(entry.document, run, phase))),
             plot('Rate and latency over time', joined + (stalls.length > 0 ? 'Shaded: a rate below a tenth of the median, an operation of a second or more, or a run that stood still.' : ''),
                  (theme, width) => testbed.timePlot(phase, theme, width)),
             plot('Latency by percentile', 'Each further mark is ten times rarer.' + open,
                  (theme, width) => testbed.latencyPlot(testbed.phaseCurves(phase, theme), theme, width)),
             ledger(entry, r, p),
             plot('Reads of one operation', 'How many operations caused none, one, two or more reads.', (theme, width) => testbed.blocksPlot(phase, theme, width)),
             memory(entry, r, p), space(entry, r));
  }

  function pairs(title, object) {
    const names = Object.keys(object || {}).sort();
    if (names.length === 0) return null;
    const text = (value) => line(typeof value === 'string' ? value : JSON.stringify(value));
    return fold(title, h('dl', {}, names.map((name) => [h('dt', {}, line(name)), h('dd', {}, text(object[name]))])));
  }

  // Returns the folds with everything that a reader needs to repeat the run; `more` are further ones.
  function circumstances(entry, data, more) {
    const d = entry.document, shared = (index) => typeof index === 'number' ? data.shared[index] : {};
    const effective = (d.runs || []).map((run) => run.engine && shared(run.engine.effective))[0];
    const commands = testbed.commandLines(d);
    return fold('How to repeat it: command, settings, machine, versions',
                h('p', {}, commands.length > 1 ? 'The commands that load its database and run it again:' : 'The command, as it was given:'),
                h('pre', {class: 'command'}, commands.join('\n')),
                h('p', {}, `Started ${line(d.started || 'at an unknown time')} by testbed ${line(d.testbed || '?')}; file ${line(entry.source)}.`),
                (d.notes || []).map((note) => h('p', {}, 'Note: ' + line(note))),
                pairs('Options, as they were resolved', d.options), pairs('The engine\u2019s settings in force', effective), more,
                pairs('Machine', shared(d.machine)), pairs('Device', shared(d.device)));
  }

  // Returns a fold with the tables of the report whose figures the page has in no other form; null without one.
  function furtherTables(d) {
    const tables = d.tables || [];
    return tables.length === 0 ? null : fold('Further tables of the report', tables.map((one) => testbed.textTable(one)));
  }

  // Returns a document with its answer first. `entry` is one of the page's documents, with its index.
  function documentView(entry, data) {
    const d = entry.document, shown = h('div', {class: 'shown'});
    const runs = d.runs || [];
    const view = h('section', {class: 'result', id: `document-${entry.index}`},
                   h('h2', {}, documentTitle(d)), h('p', {class: 'settings'}, settingsLine(d)));
    const main = runs.map((run) => testbed.mainPhase(run));
    // A load that several runs share is a run of its own in the document, and not the result that the page shows
    // first.
    const measured = main.findIndex((p, r) => p >= 0 && runs[r].phases[p].kind === 'measure');
    const first = measured >= 0 ? measured : main.findIndex((p) => p >= 0);
    if (first < 0) {
      const says = testbed.unfinishedAnswers(d).map((s) => h('p', {class: s.alarm ? 'alarm' : 'answer'}, line(s.text)));
      view.append(...[...says, rateSearches(entry), furtherTables(d)].filter((part) => part), circumstances(entry, data));
      return view;
    }
    const operations = operationsTable(entry, choose);
    function choose(r, p) {
      for (const button of operations.querySelectorAll('.choose')) {
        const on = button.dataset.run === String(r) && button.dataset.phase === String(p);
        button.setAttribute('aria-pressed', String(on));
      }
      for (const row of operations.querySelectorAll('tbody tr')) row.classList.toggle('chosen', row.dataset.row === `${r}/${p}`);
      shown.replaceChildren(phaseView(entry, r, p));
      testbed.redraw();
    }
    const run = runs[first], phase = run.phases[main[first]];
    view.append(h('div', {class: 'answers'}, testbed.answers(d, run, phase).map((s, i) => h('p', {class: i === 0 ? 'answer' : null}, line(s)))),
                h('ul', {class: 'confidence'}, testbed.confidence(d, run, phase).map((c) => h('li', {class: c.alarm ? 'alarm' : null}, line(c.text)))),
                ...[operations, intendedTable(entry), rateSearches(entry), shown, furtherTables(d)].filter((part) => part), circumstances(entry, data));
    choose(first, main[first]);
    return view;
  }

  Object.assign(testbed, {documentView, documentTitle, settingsLine, pairs, circumstances});
})(testbed);
