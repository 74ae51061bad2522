// Shows the results of several documents side by side, phase by phase.
(function (testbed) {
  'use strict';

  const {h, figure, derived, table, plot, count, short, bytes, time, percent, line} = testbed;

  function sizeOf(phase, what) {
    const device = (phase.account || {}).device;
    return device && phase.count > 0 ? device[what] / phase.count : NaN;
  }

  // Returns the options in which the documents differ: [{name, values}].
  function differences(entries) {
    const names = new Set(entries.flatMap((entry) => Object.keys(entry.document.options || {})));
    return [...names].sort().map((name) => ({name, values: entries.map((entry) => JSON.stringify((entry.document.options || {})[name]))}))
        .filter((one) => one.values.some((value) => value !== one.values[0]));
  }

  function row(group, i) {
    const member = group.members[i], base = group.members[0], phase = member.phase, at = `/runs/${member.run}/phases/${member.index}`;
    const against = (value, other) => i > 0 && other > 0 && isFinite(value) ? derived('× ' + short(value / other)) : derived('');
    const writes = sizeOf(phase, 'write_bytes'), reads = sizeOf(phase, 'reads');
    return h('tr', {}, h('th', {scope: 'row'}, line(member.name)), figure(member.entry, at + '/rate', short), against(phase.rate, base.phase.rate),
             figure(member.entry, at + '/operations/0/latency_us/p99', time),
             against(phase.operations[0].latency_us.p99, base.phase.operations[0].latency_us.p99),
             derived(short(reads)), against(reads, sizeOf(base.phase, 'reads')), derived(bytes(writes)), against(writes, sizeOf(base.phase, 'write_bytes')),
             derived(percent(phase.foreign_cpu_share)));
  }

  function answer(group) {
    const [base, ...others] = group.members;
    return others.slice(0, 6).map((other) => {
      const ratio = other.phase.rate / base.phase.rate;
      const says = ratio >= 1 ? `${short(ratio)} times the rate` : `${percent(1 - ratio)} less`;
      return h('p', {class: 'answer'}, `${line(group.title)}: ${line(other.name)} did ${short(other.phase.rate)} operations a second, ${line(base.name)} ${short(base.phase.rate)}: ${says}.`);
    });
  }

  // Returns the view of the phases that at least two documents have; null when there is none.
  function comparisonView(entries) {
    const groups = testbed.comparisonGroups(entries);
    if (groups.length === 0) return null;
    const different = differences(entries);
    const heads = ['result', 'per second', 'ratio', '99 %', 'ratio', 'device reads / operation', 'ratio', 'device writes / operation', 'ratio', 'other programs'];
    return h('section', {class: 'result', id: 'comparison'}, h('h2', {}, 'Side by side'),
             different.length > 0 ? h('p', {class: 'settings'}, 'They differ in ' + different.map((one) => one.name).join(', ') + '.') : h('p', {class: 'settings'}, 'They have the same options.'),
             h('div', {class: 'answers'}, groups.filter((g) => g.kind === 'measure').slice(-1).map(answer)),
             h('p', {class: 'note'}, 'A run of each cannot tell a difference from chance: a ratio is what was seen, not a verdict. Runs that alternate in time can; see the documentation of testbed.'),
             groups.map((group) => h('section', {}, h('h3', {}, line(group.title)),
               table(line(group.title), heads, group.members.map((member, i) => row(group, i))),
               plot('Rate over time', null, (theme, width) => testbed.ratesPlot(group, theme, width)),
               plot('Latency by percentile', 'Of the first operation of each.', (theme, width) => testbed.latencyPlot(testbed.groupCurves(group, theme), theme, width)))));
  }

  Object.assign(testbed, {comparisonView});
})(testbed);
