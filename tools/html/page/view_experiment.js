// Shows an experiment: its verdicts first, then tables beside the published ones, curves, and its cells.
(function (testbed) {
  'use strict';

  const {h, table, fold, lazyFold, plot, count, counted, short, line} = testbed;

  // The sign before each verdict or outcome. The words differ as well, so the sign is never the only difference.
  const signs = [[/^(reproduced|holds)/, '✓', 'yes'], [/^in part/, '◐', 'part'], [/^(not reproduced|does not hold)/, '✗', 'no'], [/./, '·', 'open']];
  function sign(text) {
    const [, mark, name] = signs.find(([pattern]) => pattern.test(text)) || signs[3];
    return h('span', {class: 'sign ' + name, 'aria-hidden': 'true'}, mark);
  }

  function confidenceOf(part) {
    const because = part.because ? ` (${part.because})` : '';
    if (typeof part.true_share !== 'number') return part.outcome + because;
    const mean = !part.outcome.startsWith('cannot be told') ? '' : part.true_at_mean ? ', and at their mean' : ', not at their mean';
    return `${part.outcome}; true in ${testbed.percent(part.true_share)} of resampled rounds${mean}${because}`;
  }

  // Returns the memory that the engines of a finding held, and the lines on engines that held unequal memory, on phases
  // that ended early and on cells that ran on several hosts: each line once, with the first part of the finding that it
  // applies to.
  function termsOf(f) {
    const told = new Map();
    for (const part of f.parts) {
      for (const text of [part.unequal_memory, part.ended_early, ...(part.hosts || [])]) if (text && !told.has(text)) told.set(text, part.says);
    }
    return [heldLine(f.held, null), [...told].map(([text, says]) => h('p', {class: 'alarm'}, line(text), ` (of “${line(says)}”)`))];
  }

  function heldLine(held, kind) {
    return held ? h('p', {class: kind}, 'memory held: ', line(held)) : null;
  }

  function finding(f) {
    const parts = f.parts.map((part) => h('tr', {}, h('td', {class: 'wrap'}, line(part.says), part.stand_in ? h('em', {}, line(testbed.standInText(f, part))) : null,
        part.false_if ? h('em', {}, ` (false if ${line(part.false_if)})`) : null),
      h('td', {class: 'wrap'}, line(part.published || '–')), h('td', {class: 'wrap'}, line(part.ours || '–')),
      h('td', {class: 'wrap'}, sign(part.outcome), ' ', line(confidenceOf(part)))));
    return h('details', {class: 'finding'},
             h('summary', {}, sign(f.verdict), h('span', {class: 'verdict'}, line(f.verdict), f.parts.some((part) => part.unequal_memory) ? h('span', {class: 'alarm'}, ' ! unequal memory') : null,
                 f.parts.some((part) => part.ended_early) ? h('span', {class: 'alarm'}, ' ! phases ended early') : null,
                 f.parts.some((part) => (part.hosts || []).length > 0) ? h('span', {class: 'alarm'}, ' ! several hosts') : null),
               h('span', {class: 'claim'}, h('b', {}, line(f.id)), ' ', line(f.claim))),
             f.systems ? h('p', {}, 'Systems: ', line(f.systems)) : null, f.because ? h('p', {}, line(f.because)) : null,
             parts.length > 0 ? table('Parts of the claim', ['what it says', 'published', 'ours', 'outcome'], parts, {class: 'words'}) : null,
             termsOf(f), (f.mechanisms || []).map((m) => h('p', {}, 'Why: ', line(m))));
  }

  // Returns the answer: the sentence that counts the verdicts, or of an experiment without findings its best figures, and
  // of `testbed advise` its advice.
  function answer(experiment) {
    if (experiment.findings.length > 0) return h('p', {class: 'answer'}, summary(experiment));
    const [advice, ...lines] = (experiment.advice || '').trim().split('\n');
    const says = [advice, ...testbed.experimentAnswers(experiment)].filter((s) => s);
    if (says.length === 0) return h('p', {class: 'answer'}, 'This experiment has no findings to judge.');
    return [says.map((s, i) => h('p', {class: i === 0 ? 'answer' : null}, line(s))), lines.length > 0 ? fold('The advice in full', h('pre', {class: 'command'}, lines.join('\n'))) : null];
  }

  // Returns the sentence that counts the verdicts.
  function summary(experiment) {
    const counts = new Map();
    for (const f of experiment.findings) {
      const kind = f.verdict.replace(/ as far.*| \(.*|;.*/, '').replace(/^no verdict from one round.*/, 'without a verdict, because one round cannot give one');
      counts.set(kind, (counts.get(kind) || 0) + 1);
    }
    return `Of ${counted(count(experiment.findings.length), 'finding')}: ` + [...counts].map(([kind, n]) => `${n} ${kind}`).join(', ') + '.';
  }

  function cellLink(e, i, text) {
    return h('a', {href: `#cell-${e}-${i}`}, text);
  }

  function figureCell(experiment, e, figure) {
    const known = figure.cells.length > 0 && typeof figure.mean === 'number';
    if (!known) return h('td', {class: 'number'}, figure.cells.length > 0 ? '–' : '');
    const refused = figure.cells.some((i) => experiment.cells[i] && experiment.cells[i].not_in_force);
    const text = short(figure.mean) + (refused ? '*' : '');
    return h('td', {class: 'number', 'data-value': figure.mean, 'data-cells': figure.cells.join(' ')}, cellLink(e, figure.cells[0], text),
             figure.n > 1 && figure.half_width > 0 ? h('span', {class: 'half'}, ' ± ' + short(figure.half_width)) : null, figure.mark ? ' ' + figure.mark : null);
  }

  function experimentTable(experiment, e, t) {
    const rows = t.rows.map((row) => h('tr', {}, h('th', {scope: 'row'}, line(row.name)), row.figures.map((f) => figureCell(experiment, e, f))));
    const published = t.published.map((row) => h('tr', {}, row.map((cell, i) => i === 0 ? h('th', {scope: 'row'}, line(cell)) : h('td', {class: 'number'}, line(cell)))));
    return h('div', {class: 'tables'}, table('Measured: ' + line(t.title), t.columns.map(line), rows, {class: 'measured'}),
             published.length > 0 ? table('Published', t.published_columns.map(line), published, {class: 'published'}) : null,
             t.rows.some((row) => row.figures.some((f) => f.mark === '~')) ? h('p', {class: 'note'}, '~ cannot be told from the best') : null,
             heldLine(t.held, 'note'),
             t.under.split('\n').filter((s) => s).map((s) => h('p', {class: s.startsWith('! ') ? 'note alarm' : 'note'}, line(s))),
             t.note ? h('p', {class: 'note'}, line(t.note)) : null);
  }

  function select(label, options, chosen, change) {
    const element = h('select', {onchange: () => change(Number(element.value))},
                      options.map(([value, text]) => h('option', {value, selected: value === chosen}, line(text))));
    return h('label', {}, h('span', {}, line(label)), element);
  }

  // Returns the view of the curves, with choices of the figure, the axis, and the labels of the other axes. A series of
  // metrics is a figure, too, and its numbers (-1) are an axis that its metrics offer.
  function curves(experiment) {
    let choice = testbed.firstChoice(experiment);
    if (choice === null) return null;
    const holder = h('div', {}), controls = h('div', {class: 'controls'}), axes = testbed.curveAxes(experiment), series = testbed.seriesInOrder(experiment);
    const named = (name, unit) => name.replace(/_/g, ' ') + (unit ? ` (${unit})` : '');
    const figures = [...series.map((s, i) => [-1 - i, named(s.stem, experiment.metrics[s.metrics[0]].unit) + `, each ${s.over}`]),
                     ...(axes.length > 0 ? experiment.metrics.map((m, i) => [i, named(m.name, m.unit)]) : [])];
    function chooseFigure(i) {
      const wanted = series[-1 - i];
      if (wanted && choice.series) {
        choice = {...choice, series: wanted, metric: wanted.metrics[0]};
      } else if (wanted) {
        choice = testbed.seriesChoice(experiment, wanted);
      } else {
        choice = {...(choice.series ? testbed.curveChoice(experiment) : choice), metric: i};
      }
    }
    function chooseAxis(i) {
      if (i < 0) {
        choice = testbed.seriesChoice(experiment, testbed.seriesOf(experiment, choice.metric));
        return;
      }
      const fixed = {...choice.fixed};
      if (!choice.series) fixed[choice.x] = axes.find((a) => a.index === choice.x).labels[0];
      delete fixed[i];
      choice = {metric: choice.metric, x: i, fixed};
    }
    function show() {
      const of = testbed.seriesOf(experiment, choice.metric);
      controls.replaceChildren(
        select('figure', figures, choice.series ? -1 - series.indexOf(choice.series) : choice.metric, (i) => set(() => chooseFigure(i))),
        select('over', [...(of ? [[-1, of.over]] : []), ...axes.map((a) => [a.index, a.name])], choice.x, (i) => set(() => chooseAxis(i))),
        ...axes.filter((a) => a.index !== choice.x).map((a) =>
          select(a.name, [[-1, 'each'], ...a.labels.map((l) => [l, experiment.axes[a.index].labels[l]])], choice.fixed[a.index], (l) => set(() => { choice.fixed[a.index] = l; }))));
      const metric = experiment.metrics[choice.metric], now = {...choice, fixed: {...choice.fixed}};
      holder.replaceChildren(plot('Curves', metric.about || 'Bands are 95 % intervals of the mean over the rounds.', (theme, width) => testbed.curvePlot(experiment, now, theme, width)) ||
                             h('p', {class: 'note'}, 'No cell was measured with these values: choose others, or “each”.'));
    }
    function set(change) {
      change();
      show();
      testbed.redraw();
    }
    show();
    return h('section', {}, h('h3', {}, 'Curves'), controls, holder);
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return JSON.parse(await new Response(stream).text());
  }

  function inflight(i, run, experiment) {
    return h('p', {class: 'note'}, `The document of this run is not on the page, which would be too large. It is ${line(experiment.directory)}/${line(run.file)}; `,
             h('code', {}, testbed.pageCommand(`${experiment.directory}/${run.file}`)), ' shows it.');
  }

  // Returns the view of a cell with its runs, which links to the cell lead to.
  async function cellView(data, e, i) {
    const experiment = data.experiments[e], cell = experiment && experiment.cells[i];
    if (!cell) return null;
    const views = [];
    for (const run of cell.runs) {
      if (run.packed === null) {
        views.push(inflight(i, run, experiment));
        continue;
      }
      const entry = await unpack(data.packed[run.packed]);
      entry.index = `cell-${e}-${i}-${run.round}`;
      const show = () => [experiment.rounds > 1 ? h('p', {class: 'note'}, `Round ${run.round}`) : null,
                          testbed.guarded(run.file, () => testbed.documentView(entry, data))].filter((part) => part);
      views.push(views.length === 0 ? show() : lazyFold(`Round ${run.round}`, show));
    }
    return h('section', {class: 'cell', id: `cell-${e}-${i}`, tabindex: -1},
             h('p', {class: 'where'}, h('a', {href: `#experiment-${e}`}, '← ' + line(experiment.title))),
             h('h2', {}, 'Cell: ' + line(cell.name)), cell.not_in_force ? h('p', {class: 'alarm'}, 'Not in force: ' + line(cell.not_in_force)) : null, views);
  }

  function cellList(experiment, e) {
    const measured = experiment.cells.filter((cell) => cell).length;
    return lazyFold(measured === 1 ? 'Its cell' : `All ${count(measured)} cells`, () => h('ul', {class: 'cells'}, experiment.cells.map((cell, i) => cell && h('li', {}, cellLink(e, i, line(cell.name))))));
  }

  function experimentView(experiment, e) {
    const facts = [experiment.scale ? `scale ${experiment.scale}` : '', experiment.set, `${count(experiment.finished_runs)} of ${counted(count(experiment.planned_runs), 'cell')}`,
                   experiment.rounds > 1 ? `${experiment.rounds} rounds; ± is half of the 95 % interval of their mean` : 'one round',
                   Object.entries(experiment.grades).map(([grade, n]) => `${n} of grade ${grade}`).join(', ')];
    return h('section', {class: 'result experiment', id: `experiment-${e}`},
             h('h2', {}, line(experiment.title)), h('p', {class: 'settings'}, facts.filter((f) => f).map(line).join(' · ')),
             h('div', {class: 'answers'}, answer(experiment), experiment.about ? h('p', {}, line(experiment.about)) : null,
               experiment.source ? h('p', {class: 'note'}, 'Published: ' + line(experiment.source)) : null),
             experiment.confidence.length > 0 ? h('ul', {class: 'confidence'}, experiment.confidence.map((c) => h('li', {class: c.alarm ? 'alarm' : null}, line(c.text)))) : null,
             experiment.findings.length > 0 ? h('section', {}, h('h3', {}, 'Findings'), experiment.findings.map(finding)) : null,
             experiment.tables.length > 0 ? h('section', {}, h('h3', {}, 'Tables'), h('p', {class: 'note'}, 'Each figure leads to its run.'), experiment.tables.map((t) => experimentTable(experiment, e, t))) : null,
             curves(experiment), cellList(experiment, e),
             fold('Where and when it ran', h('p', {}, experiment.machines.map(line).join('; ')), h('p', {}, experiment.devices.map(line).join('; ')),
                  h('p', {}, `testbed ${experiment.versions.map(line).join(', ')}, from ${line(experiment.first)} to ${line(experiment.last)}.`),
                  h('pre', {class: 'command'}, line(experiment.command)),
                  experiment.failures.map((f) => h('p', {class: 'alarm'}, 'Failed: ' + line(f)))));
  }

  Object.assign(testbed, {experimentView, cellView});
})(testbed);
