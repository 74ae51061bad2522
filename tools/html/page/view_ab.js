// Shows a comparison by `testbed ab`: the answer in the words of its report, then the figures behind it.
(function (testbed) {
  'use strict';

  const {h, table, plot, fold, line} = testbed;

  // Returns a table of texts. `attributesOf` gives the attributes of each row, if any.
  function textTable(texts, attributesOf) {
    const isWords = (c) => ['metric', 'answer'].includes(texts.columns[c]) || (c === 1 && texts.columns[c] === 'side');
    const rows = texts.rows.map((cells, i) => h('tr', attributesOf ? attributesOf(i) : {}, cells.map((cell, c) => {
      if (c === 0) return h('th', {scope: 'row'}, line(cell));
      return h('td', {class: isWords(c) ? null : 'number'}, line(cell));
    })));
    return table(line(texts.title), texts.columns.map((column) => line(column)), rows, {}, isWords);
  }

  // Returns the attributes of a row, which keep the figures of its answer.
  function answerAttributes(answer) {
    const known = (value) => typeof value === 'number' ? value : null;
    return {'data-metric': answer.metric, 'data-side': answer.side || answer.cell, 'data-effect': known(answer.effect),
            'data-low': known(answer.low), 'data-high': known(answer.high)};
  }

  function sidesTable(comparison) {
    return table('Sides', ['side', 'settings'], comparison.sides.map((side) => h('tr', {}, h('th', {scope: 'row'}, line(side.label)),
                                                                              h('td', {class: 'wrap'}, line(side.settings)))), {class: 'words'});
  }

  function sideView(comparison, side, several) {
    const of = several ? `, ${line(side)} against ${line(comparison.sides[0].label)}` : '', band = testbed.percent(comparison.until);
    const loads = comparison.loads.find((one) => one.side === side);
    return [
      plot('Change of each metric' + of, `With its interval. Shaded: changes of ${band} and less count as the same. Hollow: cannot be told.`,
           (theme, width) => testbed.changesPlot(testbed.changesOf(comparison, side), comparison.until, theme, width)),
      loads ? plot('Rate of each load' + of, 'Each dot is a load; dashed: the effect, with its interval. Hollow: not in the answer yet.',
                   (theme, width) => testbed.loadsPlot(loads, testbed.rateAnswer(comparison, side), comparison.until, theme, width)) : null
    ];
  }

  function repeat(comparison, data) {
    const options = comparison.sides.map((side) => testbed.pairs(`Options of side ${line(side.label)}, as they were resolved`, side.options));
    return testbed.circumstances({source: comparison.source, document: {command: comparison.command, started: comparison.started, testbed: comparison.testbed,
                                                                        machine: comparison.machine, device: comparison.device}}, data, options);
  }

  // Returns the view of a comparison, the page's `index`th.
  function abView(comparison, index, data) {
    const sides = comparison.sides.slice(1).map((side) => side.label);
    return h('section', {class: 'result', id: `ab-${index}`}, h('h2', {}, line(comparison.title)), h('p', {class: 'settings'}, line(comparison.source)),
             h('div', {class: 'answers'}, comparison.sentences.map((s, i) => h('p', {class: [i === 0 ? 'answer' : '', s.alarm ? 'alarm' : ''].join(' ').trim() || null}, line(s.text)))),
             h('ul', {class: 'confidence'}, [comparison.way, ...comparison.notes].map((says) => h('li', {}, line(says)))),
             sidesTable(comparison), sides.map((side) => sideView(comparison, side, sides.length > 1)),
             comparison.metrics.rows.length > 0 ? textTable(comparison.metrics, (i) => answerAttributes(comparison.answers[i])) : null,
             comparison.tables.map((one) => textTable(one)), repeat(comparison, data));
  }

  Object.assign(testbed, {abView, textTable, answerAttributes});
})(testbed);
