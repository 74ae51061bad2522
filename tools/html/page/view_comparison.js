// Shows the results of several documents side by side, phase by phase.
(function (testbed) {
  'use strict';

  const {h, figure, derived, table, plot, count, short, bytes, time, percent, line} = testbed;

  // Returns a figure of the device per operation, other programs' requests apart.
  function sizeOf(phase, what) {
    const own = testbed.own(phase.account || {});
    return own && phase.count > 0 ? own[what] / phase.count : NaN;
  }

  // Returns the cells of the first operation's p99 and of its ratio. Latencies from an intended and from an actual
  // start have none.
  function tailCells(member, base, against) {
    const op = member.phase.operations[0], first = base.phase.operations[0], latency = testbed.latencyName(op);
    const tells = testbed.tells(op, 'p99'), both = tells && testbed.tells(first, 'p99') && latency === testbed.latencyName(first);
    return [tells ? figure(member.entry, `/runs/${member.run}/phases/${member.index}/operations/0/${latency}/p99`, time)
                  : derived('–', 'fewer than ten operations took longer'),
            both ? against(op[latency].p99, first[latency].p99) : derived('')];
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
             tailCells(member, base, against),
             derived(short(reads)), against(reads, sizeOf(base.phase, 'reads')), derived(bytes(writes)), against(writes, sizeOf(base.phase, 'write_bytes')),
             derived(percent(phase.foreign_cpu_share)));
  }

  // Returns what was seen of a group, where nothing is told of it.
  function seen(group) {
    const [base, ...others] = group.members;
    return others.slice(0, 6).map((other) => {
      const ratio = other.phase.rate / base.phase.rate;
      const says = ratio >= 1 ? `${short(ratio)} times the rate` : `${percent(1 - ratio)} less`;
      return h('p', {class: 'answer'}, `${line(group.title)}: ${line(other.name)} did ${short(other.phase.rate)} operations a second, ${line(base.name)} ${short(base.phase.rate)}: ${says}.`);
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
                            : h('p', {class: 'note'}, 'A run of each cannot tell a difference from chance: a ratio is what was seen, not a verdict. Runs that alternate in time can; see the documentation of testbed.'),
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
    const heads = ['result', 'per second', 'ratio', '99 %', 'ratio', 'device reads / operation', 'ratio', 'device writes / operation', 'ratio', 'other programs'];
    return h('section', {class: 'result', id: 'comparison'}, h('h2', {}, 'Side by side'),
             different.length > 0 ? h('p', {class: 'settings'}, 'They differ in ' + different.map((one) => one.name).join(', ') + '.') : h('p', {class: 'settings'}, 'They have the same options.'),
             answer(groups, compared), figures(compared),
             groups.map((group) => h('section', {}, h('h3', {}, line(group.title)),
               table(line(group.title), heads, group.members.map((member, i) => row(group, i))),
               plot('Rate over time', null, (theme, width) => testbed.ratesPlot(group, theme, width)),
               plot('Latency by percentile', 'Of the first operation of each.', (theme, width) => testbed.latencyPlot(testbed.groupCurves(group, theme), theme, width)))));
  }

  Object.assign(testbed, {comparisonView});
})(testbed);
