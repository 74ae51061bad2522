// Plots of the same phase of several documents. ECMAScript 5.
(function (testbed) {
  'use strict';

  // Returns the names with those of `longer` in place of the ones that are not the only ones of their kind.
  function unlike(names, longer) {
    var times = {};
    names.forEach(function (name) { times['$' + name] = (times['$' + name] || 0) + 1; });
    return names.map(function (name, i) { return times['$' + name] === 1 ? name : longer[i]; });
  }

  // Returns a name of each document, by which it can be told from the others: that of its file, the path where files of
  // several directories have one name, and a number behind it where the same file is given twice.
  testbed.namesOf = function (entries) {
    var paths = entries.map(function (entry) { return String(entry.source).replace(/\.json$/, ''); });
    var names = unlike(paths.map(function (path) { return path.replace(/^.*\//, ''); }), paths);
    return unlike(names, names.map(function (name, i) { return name + ' (' + (i + 1) + ')'; }));
  };

  var mostSideBySide = 8;  // documents

  // Returns "mean of 3 loads"; of several runs on one load "mean of 3 runs", and of a single run nothing.
  function meanText(samples) {
    var loads = {}, n = 0;
    samples.forEach(function (sample) {
      if (!loads[sample.load]) ++n;
      loads[sample.load] = true;
    });
    if (samples.length === 1) return '';
    return n > 1 ? 'mean of ' + n + ' loads' : 'mean of ' + samples.length + ' runs';
  }

  // Completes a member when all its samples are there. Those of interrupted phases are left out unless there is no
  // other.
  function complete(member) {
    var whole = member.samples.filter(function (sample) { return !sample.phase.partial; });
    member.interrupted = whole.length > 0 ? member.samples.length - whole.length : 0;
    if (whole.length > 0) member.samples = whole;
    var first = member.samples[0];
    member.run = first.run;
    member.index = first.index;
    member.phase = first.phase;
    member.mean = meanText(member.samples);
  }

  // Returns the phases that at least two documents have with the same clients: [{title, kind, members}]. A member has
  // the "name" of its document, its "entry", its "engine", and its "samples", one of each run: {run, index, phase, load}.
  // Its "run", "index" and "phase" are those of the first one, "mean" says of what testbed.meanOf is the mean, and
  // "interrupted" is the number of phases that are left out. At most eight documents are set side by side.
  testbed.comparisonGroups = function (entries) {
    var groups = [], byKey = {}, names = testbed.namesOf(entries);
    entries.slice(0, mostSideBySide).forEach(function (entry, e) {
      (entry.document.runs || []).forEach(function (run, r) {
        var times = {};
        testbed.resultPhases(run).forEach(function (p) {
          var phase = run.phases[p], time = times['$' + phase.name] = (times['$' + phase.name] || 0) + 1;
          if (!(phase.operations || []).length) return;
          var name = phase.name + (time > 1 ? ' (' + time + ')' : ''), key = '$' + name + ' ' + testbed.clientsOf(run, phase);
          if (!byKey[key]) {
            byKey[key] = {title: name + ', ' + testbed.clientsOf(run, phase), kind: phase.kind, members: []};
            groups.push(byKey[key]);
          }
          var member = byKey[key].members.filter(function (m) { return m.entry === entry; })[0];
          if (!member) {
            member = {name: names[e], entry: entry, engine: testbed.engineName(run, entry.document), samples: []};
            byKey[key].members.push(member);
          }
          member.samples.push({run: r, index: p, phase: phase, load: run.load > 0 ? run.load : 0});
        });
      });
    });
    groups = groups.filter(function (group) { return group.members.length > 1; });
    groups.forEach(function (group) { group.members.forEach(complete); });
    return groups;
  };

  // Returns the mean over the loads of a member of what `figure` returns of a phase; the figure of a load is the mean
  // over its runs. NaN when a phase does not tell it.
  testbed.meanOf = function (member, figure) {
    var loads = {};
    member.samples.forEach(function (sample) {
      var value = figure(sample.phase);
      loads[sample.load] = loads[sample.load] || [];
      loads[sample.load].push(typeof value === 'number' ? value : NaN);
    });
    function mean(values) { return values.reduce(function (all, v) { return all + v; }, 0) / values.length; }
    return mean(Object.keys(loads).map(function (load) { return mean(loads[load]); }));
  };

  // Returns a sentence on each thing that is not set side by side.
  testbed.notCompared = function (entries, groups) {
    var says = [];
    if (entries.length > mostSideBySide) says.push('The first ' + mostSideBySide + ' of ' + entries.length + ' results are set side by side.');
    groups.forEach(function (group) {
      group.members.forEach(function (m) {
        if (m.interrupted > 0) says.push(group.title + ' of ' + m.name + ': ' + (m.interrupted === 1 ? 'a phase' : m.interrupted + ' phases') + ' that was interrupted is left out.');
      });
    });
    return says;
  };

  // Returns the sentence on what the ratios of the groups are, where nothing is told of any. `compared` is the
  // comparison of two documents, or null.
  testbed.ratioNote = function (groups, compared) {
    var least = Infinity, loads;
    if (compared && !compared.why) {
      loads = compared.table.columns.indexOf('loads');
      compared.table.rows.forEach(function (row) {
        String(row[loads]).split(',').forEach(function (n) { least = Math.min(least, Number(n)); });
      });
    } else if (groups.some(function (group) { return group.members.some(function (m) { return m.mean !== ''; }); })) {
      return 'These ratios of means are what was seen, not a verdict: testbed judges two results of several loads each.';
    }
    var seen = ' cannot tell a difference from chance: a ratio is what was seen, not a verdict. ';
    if (least > 1 && isFinite(least)) return 'These ' + least + ' loads of each' + seen + 'More loads can, and runs that alternate in time; see the documentation of testbed.';
    return 'A run of each' + seen + 'Runs that alternate in time can; see the documentation of testbed.';
  };

  // Returns the looks of a group's members: those of their engines when all engines differ, otherwise one for each
  // member.
  function looks(group, theme) {
    var seen = {}, unlike = group.members.every(function (m) { var first = !seen['$' + m.engine]; seen['$' + m.engine] = true; return first; });
    if (unlike) return testbed.engineLooks(group.members.map(function (m) { return m.engine; }), theme);
    return group.members.map(function (m, i) { return testbed.look(i, theme); });
  }

  // Returns the name of a member in a plot, which shows one run alone.
  function firstName(m) {
    if (m.mean === '') return m.name;
    return m.name + (/loads$/.test(m.mean) ? ', load ' + (m.samples[0].load + 1) : ', one run');
  }

  // Returns the operations of the phase that are of the kind; null without any.
  testbed.operationNamed = function (phase, kind) {
    return (phase.operations || []).filter(function (op) { return op.name === kind; })[0] || null;
  };

  // Returns the kind of operations whose latencies are set side by side: the first that all phases of the group have,
  // since mixes may differ. '' when they have none in common.
  testbed.commonKind = function (group) {
    var common = group.members[0].phase.operations.filter(function (op) {
      return group.members.every(function (m) {
        return m.samples.every(function (sample) { return testbed.operationNamed(sample.phase, op.name) !== null; });
      });
    });
    return common.length > 0 ? common[0].name : '';
  };

  // Returns whether the phases of the group have operations of other kinds, too, so that the kind has to be named.
  testbed.hasOtherKinds = function (group) {
    return group.members.some(function (m) { return m.phase.operations.length > 1; });
  };

  // Returns the p99 of a kind of operations, over the samples of the member; NaN when too few operations tell it.
  testbed.tailOf = function (member, kind) {
    return testbed.meanOf(member, function (phase) {
      var op = testbed.operationNamed(phase, kind), latency = op ? testbed.latencyName(op) : '';
      return op && testbed.tells(op, 'p99', latency) ? op[latency].p99 : NaN;
    });
  };

  // Returns the curves of the latencies that are set side by side; none without a common kind.
  testbed.groupCurves = function (group, theme) {
    var all = looks(group, theme), kind = testbed.commonKind(group);
    if (kind === '') return [];
    return group.members.map(function (m, i) {
      var op = testbed.operationNamed(m.phase, kind);
      return {name: firstName(m), curve: op.latency_curve, look: all[i], open: !!op.latency_from_intended_us};
    });
  };

  // Returns the plot of the rates of a group over time; null when no member has a series of two entries.
  testbed.ratesPlot = function (group, theme, width) {
    var all = looks(group, theme), narrow = width < 560, option = testbed.basePlot(theme), names = [];
    option.series = [];
    group.members.forEach(function (m, i) {
      var series = m.phase.series;
      if (!series || !series.end_seconds || series.end_seconds.length < 2) return;
      names.push(firstName(m));
      option.series.push({name: firstName(m), type: 'line', symbol: 'none', data: testbed.stepPoints(series, testbed.rates(series)),
                          lineStyle: {color: all[i].color, width: 1.7, type: all[i].dash}, itemStyle: {color: all[i].color}, emphasis: {disabled: true}});
    });
    if (option.series.length === 0) return null;
    var above = testbed.legendHeight(names, width);
    option.grid = {left: narrow ? 46 : 62, right: narrow ? 10 : 20, top: 18 + above, bottom: 46};
    option.xAxis = testbed.plotAxis(theme, {type: 'value', min: 0, max: 'dataMax', splitLine: {show: false}, name: 'seconds', nameLocation: 'middle', nameGap: 28,
                                            axisLabel: {formatter: testbed.axis}});
    option.yAxis = testbed.plotAxis(theme, {type: 'value', min: 0, axisLabel: {formatter: testbed.axis}});
    option.legend = testbed.plotLegend(theme, names);
    option.tooltip.trigger = 'axis';
    option.tooltip.formatter = function (p) {
      var seen = {};
      return 'second ' + testbed.short(p[0].axisValue) + '<br>' + p.filter(function (one) {
        var first = !seen['$' + one.seriesName];
        seen['$' + one.seriesName] = true;
        return first;
      }).map(function (one) { return one.marker + testbed.escape(one.seriesName) + '&ensp;<b>' + testbed.short(one.value[1]) + '/s</b>'; }).join('<br>');
    };
    return {option: option, height: 258 + above};
  };
})(testbed);
