// Plots of the same phase of several documents. ECMAScript 5.
(function (testbed) {
  'use strict';

  function nameOf(entry) { return String(entry.source).replace(/^.*\//, '').replace(/\.json$/, ''); }

  // Returns the phases that at least two documents have with the same clients: [{title, kind, members}], each member
  // with its "name", "entry", "run", "index" and "phase". At most eight documents are set side by side.
  testbed.comparisonGroups = function (entries) {
    var groups = [], byKey = {};
    entries.slice(0, 8).forEach(function (entry) {
      (entry.document.runs || []).forEach(function (run, r) {
        if (run.repeat > 0) return;
        testbed.resultPhases(run).forEach(function (p) {
          var phase = run.phases[p], key = '$' + phase.name + ' ' + run.threads;
          if (!(phase.operations || []).length) return;
          if (!byKey[key]) {
            byKey[key] = {title: phase.name + ', ' + run.threads + (run.threads === 1 ? ' client' : ' clients'), kind: phase.kind, members: []};
            groups.push(byKey[key]);
          }
          if (byKey[key].members.some(function (m) { return m.entry === entry; })) return;
          byKey[key].members.push({name: nameOf(entry), entry: entry, run: r, index: p, phase: phase, engine: testbed.engineName(run, entry.document)});
        });
      });
    });
    return groups.filter(function (group) { return group.members.length > 1; });
  };

  // Returns the looks of a group's members: those of their engines when all engines differ, otherwise one for each
  // member.
  function looks(group, theme) {
    var seen = {}, unlike = group.members.every(function (m) { var first = !seen['$' + m.engine]; seen['$' + m.engine] = true; return first; });
    return group.members.map(function (m, i) { return unlike ? testbed.engineLook(m.engine, theme) : testbed.look(i, theme); });
  }

  testbed.groupCurves = function (group, theme) {
    var all = looks(group, theme);
    return group.members.map(function (m, i) {
      var first = m.phase.operations[0];
      return {name: m.name, curve: first.latency_curve, look: all[i], open: !!first.latency_from_intended_us};
    });
  };

  // Returns the plot of the rates of a group over time; null when no member has a series of two entries.
  testbed.ratesPlot = function (group, theme, width) {
    var all = looks(group, theme), narrow = width < 560, option = testbed.basePlot(theme), names = [];
    option.series = [];
    group.members.forEach(function (m, i) {
      var series = m.phase.series;
      if (!series || !series.end_seconds || series.end_seconds.length < 2) return;
      names.push(m.name);
      option.series.push({name: m.name, type: 'line', symbol: 'none', data: testbed.stepPoints(series, testbed.rates(series)),
                          lineStyle: {color: all[i].color, width: 1.7, type: all[i].dash}, itemStyle: {color: all[i].color}, emphasis: {disabled: true}});
    });
    if (option.series.length === 0) return null;
    option.grid = {left: narrow ? 46 : 62, right: narrow ? 10 : 20, top: 40, bottom: 46};
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
    return {option: option, height: 280};
  };
})(testbed);
