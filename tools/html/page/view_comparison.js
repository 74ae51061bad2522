// Shows the results of several documents side by side, phase by phase.
(function (testbed) {
  'use strict';

  const {h, figure, derived, table, plot, count, short, bytes, time, percent, line} = testbed;

  // Returns a figure of the device per operation, other programs' requests apart.
  function sizeOf(member, what) {
    return testbed.meanOf(member, (phase) => {
      const own = testbed.own(phase.account || {});
      return own && phase.count > 0 ? own[what] / testbed.charged(phase) : NaN;
    });
  }

  // Returns the cell of a figure at the pointer `rest` of a phase: the document's own one, or the mean over its loads.
  function meanCell(member, rest, mean, format) {
    return member.mean === '' ? figure(member.entry, `/runs/${member.run}/phases/${member.index}${rest}`, format) : derived(format(mean), member.mean);
  }

  // Returns the cells of the p99 of the kind of operations that the group has in common, and of its ratio. Latencies from
  // an intended and from an actual start have none.
  function tailCells(member, base, kind, against) {
    const op = testbed.operationNamed(member.phase, kind), other = testbed.operationNamed(base.phase, kind);
    if (op === null || other === null) return [derived('–', 'the results have no kind of operation in common'), derived('')];
    const latency = testbed.latencyName(op), same = latency === testbed.latencyName(other), p99 = testbed.tailOf(member, kind);
    return [isFinite(p99) ? meanCell(member, `/operations/${member.phase.operations.indexOf(op)}/${latency}/p99`, p99, time) : derived('–', 'fewer than ten operations took longer'),
            same ? against(p99, testbed.tailOf(base, kind)) : derived('')];
  }

  // Returns the options in which the documents differ: [{name, values}].
  function differences(entries) {
    const names = new Set(entries.flatMap((entry) => Object.keys(entry.document.options || {})));
    return [...names].sort().map((name) => ({name, values: entries.map((entry) => JSON.stringify((entry.document.options || {})[name]))}))
        .filter((one) => one.values.some((value) => value !== one.values[0]));
  }

  const rateOf = (member) => testbed.meanOf(member, (phase) => phase.rate);
  const fullName = (member) => member.mean === '' ? member.name : `${member.name} (${member.mean})`;

  function row(group, i) {
    const member = group.members[i], base = group.members[0], rate = rateOf(member);
    const against = (value, other) => i > 0 && other > 0 && isFinite(value) ? derived('× ' + short(value / other)) : derived('');
    const writes = sizeOf(member, 'write_bytes'), reads = sizeOf(member, 'reads');
    return h('tr', {}, h('th', {scope: 'row'}, line(fullName(member))), meanCell(member, '/rate', rate, short), against(rate, rateOf(base)),
             tailCells(member, base, testbed.commonKind(group), against),
             derived(short(reads)), against(reads, sizeOf(base, 'reads')), derived(bytes(writes)), against(writes, sizeOf(base, 'write_bytes')),
             derived(percent(testbed.meanOf(member, (phase) => typeof phase.foreign_cpu_share === 'number' ? phase.foreign_cpu_share : NaN))));
  }

  // Returns what was seen of a group, where nothing is told of it.
  function seen(group) {
    const [base, ...others] = group.members;
    return others.map((other) => {
      const ratio = rateOf(other) / rateOf(base);
      const says = ratio >= 1 ? `${short(ratio)} times the rate` : `${percent(1 - ratio)} less`;
      return h('p', {class: 'answer'}, `${line(group.title)}: ${line(fullName(other))} did ${testbed.counted(short(rateOf(other)), 'operation')} a second, ${line(fullName(base))} ${short(rateOf(base))}: ${says}.`);
    });
  }

  // Returns the answers of a comparison (`compared` of the page's data; null without one). A sentence that tells
  // something stands first and large; only where none does, the ratios that were seen stand in its place. On unequal
  // terms the terms do.
  function answer(groups, compared) {
    const judged = compared && !compared.why, sentences = judged && compared.comparable ? compared.sentences : [];
    const told = sentences.filter((one) => one.told), open = sentences.filter((one) => !one.told);
    const which = judged ? h('p', {class: 'settings'}, `The first is ${line(compared.first)}, the second ${line(compared.second)}.`) : null;
    const terms = judged ? compared.terms.map((says) => h('p', {class: /(^|: )! /.test(says) ? 'alarm' : 'note'}, line(says.replace(/(^|: )! /, '$1')))) : [];
    if (judged && !compared.comparable) return [which, h('div', {class: 'answers'}, terms)];
    return [which, h('div', {class: 'answers'}, told.map((one) => h('p', {class: 'answer'}, line(one.text))),
                     told.length === 0 ? groups.filter((g) => g.kind === 'measure').slice(-1).map(seen) : null, open.map((one) => h('p', {}, line(one.text)))),
            told.length > 0 ? null
                            : h('p', {class: 'note'}, testbed.ratioNote(groups, compared)),
            compared && compared.why ? h('p', {class: 'alarm'}, line(compared.why)) : null, terms];
  }

  // Returns the table of a comparison, the plots of its cells, and the commands for the loads that it lacks.
  function figures(compared) {
    if (!compared || compared.why) return null;
    return h('section', {}, h('h3', {}, 'The second against the first'), testbed.textTable(compared.table, (i) => testbed.answerAttributes(compared.answers[i])),
             compared.lacking ? h('pre', {class: 'command'}, compared.lacking.trim()) : null,
             testbed.comparedCells(compared).map((one) => plot('Change of each metric, ' + line(one.cell), 'With its interval, over the loads of each. Hollow: cannot be told.',
                                                               (theme, width) => testbed.changesPlot(one.rows, compared.until, theme, width))));
  }

  // Returns the view of the phases that at least two documents have; null when there is none.
  function comparisonView(entries, compared) {
    const groups = testbed.comparisonGroups(entries);
    if (groups.length === 0) return null;
    const different = differences(entries);
    // The percentile is of a single kind of operations, and the other columns are of the phase.
    const named = (group) => testbed.hasOtherKinds(group) ? testbed.commonKind(group) : '';
    const tail = (group) => named(group) === '' ? '99 %' : `99 % of ${line(named(group))}`;
    const heads = (group) => ['result', 'per second', 'ratio', tail(group), 'ratio', 'device reads / operation', 'ratio', 'device writes / operation', 'ratio', 'other programs'];
    return h('section', {class: 'result', id: 'comparison'}, h('h2', {}, 'Side by side'),
             different.length > 0 ? h('p', {class: 'settings'}, 'They differ in ' + different.map((one) => one.name).join(', ') + '.') : h('p', {class: 'settings'}, 'They have the same options.'),
             testbed.notCompared(entries, groups).map((says) => h('p', {class: 'note'}, line(says))), answer(groups, compared), figures(compared),
             groups.map((group) => h('section', {}, h('h3', {}, line(group.title)),
               table(line(group.title), heads(group), group.members.map((member, i) => row(group, i))),
               plot('Rate over time', null, (theme, width) => testbed.ratesPlot(group, theme, width)),
               plot('Latency by percentile', named(group) === '' ? null : `Of ${line(named(group))} of each.`, (theme, width) => testbed.latencyPlot(testbed.groupCurves(group, theme), theme, width)))));
  }

  Object.assign(testbed, {comparisonView});
})(testbed);
