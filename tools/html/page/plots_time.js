// Plots of a phase over its time. ECMAScript 5.
(function (testbed) {
  'use strict';

  var shortestForRate = 0.3;  // seconds, as kShortestForRate of tools/live/seconds.h

  // Returns the lengths of the series' intervals, in seconds.
  testbed.intervals = function (series) {
    return series.end_seconds.map(function (end, i) { return end - (i > 0 ? series.end_seconds[i - 1] : 0); });
  };

  // Returns the values of each interval as those per second; null where a value is not known, or the interval is too
  // short for a rate.
  function perSecond(series, values) {
    var lengths = testbed.intervals(series);
    return values.map(function (value, i) {
      return value === null || lengths[i] < shortestForRate && lengths.length > 1 ? null : value / lengths[i];
    });
  }

  // Returns operations per second of each interval; null for one too short for a rate.
  testbed.rates = function (series, counts) { return perSecond(series, counts || series.operations || []); };

  // Returns the stalls of a series: [{from, to, rate, worst}], in seconds, per second, and microseconds. The program
  // found them in the seconds before it joined them (StallsOf of tools/live/seconds.h).
  testbed.stalls = function (series) { return (series || {}).stalls || []; };

  // Returns whether the interval is the last part of a phase and too short for a rate.
  function tooShort(series, i) {
    var from = i > 0 ? series.end_seconds[i - 1] : 0;
    return series.end_seconds.length > 2 && i + 1 === series.end_seconds.length && series.end_seconds[i] - from < shortestForRate;
  }

  // Returns the points of a step line: each value holds over its interval.
  function steps(series, values) {
    var points = [];
    values.forEach(function (value, i) {
      var from = i > 0 ? series.end_seconds[i - 1] : 0;
      if (tooShort(series, i)) return;
      points.push([from, value], [series.end_seconds[i], value]);
    });
    return points;
  }

  testbed.stepPoints = steps;

  // The left edge has room for the labels of every panel. The library would move the edge of a panel whose labels had
  // too little, and its seconds would not stand below those of the others.
  function leftEdge(narrow) { return narrow ? 54 : 66; }

  function grid(top, height, narrow) {
    return {left: leftEdge(narrow), right: narrow ? 10 : 20, top: top, height: height, outerBoundsMode: 'none'};
  }

  function line(theme, at, name, points, look, more) {
    var one = {
      name: name, type: 'line', xAxisIndex: at, yAxisIndex: at, data: points, symbol: 'none',
      lineStyle: {color: look.color, width: 1.6, type: look.dash}, itemStyle: {color: look.color}, emphasis: {disabled: true}
    };
    Object.keys(more || {}).forEach(function (name) { one[name] = more[name]; });
    return one;
  }

  // Returns the stalls that are shaded, from the left: all of them, or the longest of very many.
  function shadedStalls(stalls) {
    var most = 400;
    return stalls.slice().sort(function (a, b) { return (b.to - b.from) - (a.to - a.from) || a.from - b.from; }).slice(0, most)
        .sort(function (a, b) { return a.from - b.from; });
  }

  // Shades the stalls in each of the panels. Of many the longest alone has a label.
  function stallMarks(theme, stalls, labelled) {
    var longest = stalls.reduce(function (best, stall) { return stall.to - stall.from > best.to - best.from ? stall : best; }, stalls[0]);
    return {
      silent: true, itemStyle: {color: theme.band},
      label: {show: labelled, position: 'insideTop', color: theme.alarm, fontSize: 11, fontFamily: theme.font},
      data: shadedStalls(stalls).map(function (stall) {
        var text = stall !== longest && stalls.length > 6 ? '' : 'stall ' + testbed.short(stall.from) + '–' + testbed.short(stall.to) + ' s';
        return [{xAxis: stall.from, name: text}, {xAxis: stall.to}];
      })
    };
  }

  // Returns the rows of the background lanes: each kind of work, and the reclaim of memory, with a value for each
  // interval.
  function laneRows(series) {
    var reads = series.background_read_bytes || {}, writes = series.background_write_bytes || {}, names = {};
    Object.keys(reads).concat(Object.keys(writes)).forEach(function (name) { names[name] = true; });
    var rows = Object.keys(names).sort().map(function (name) {
      var values = series.end_seconds.map(function (end, i) { return ((reads[name] || [])[i] || 0) + ((writes[name] || [])[i] || 0); });
      return {name: name, values: values, all: testbed.sum(values), text: function (v) { return testbed.bytes(v); }};
    });
    // Work with hardly any bytes of IO gets no lane.
    var all = testbed.sum(rows, function (row) { return row.all; });
    rows = rows.filter(function (row) { return row.all > all / 1000; }).sort(function (a, b) { return b.all - a.all; }).slice(0, 6);
    if ((series.limit_hits || []).some(function (n) { return n > 0; })) {
      rows.push({name: 'memory reclaim', values: series.limit_hits, text: function (v) { return testbed.counted(testbed.count(v), 'time') + ' at the limit'; }});
    }
    return rows;
  }

  // Shows the background work of each second as lanes: a bar where the work did IO or memory was reclaimed, darker
  // for more bytes.
  function lanes(theme, series, at) {
    var rows = laneRows(series);
    var looks = testbed.workLooks(rows.map(function (row) { return row.name; }), theme);
    looks['memory reclaim'] = {color: theme.muted};
    var data = [];
    rows.forEach(function (row, lane) {
      var most = Math.max.apply(null, row.values);
      row.values.forEach(function (value, i) {
        if (!(value > 0)) return;
        data.push({value: [i > 0 ? series.end_seconds[i - 1] : 0, series.end_seconds[i], lane],
                   itemStyle: {color: looks[row.name].color, opacity: 0.3 + 0.7 * value / most}, says: row.name + ': ' + row.text(value)});
      });
    });
    return {
      names: rows.map(function (row) { return row.name; }),
      series: {
        type: 'custom', xAxisIndex: at, yAxisIndex: at, data: data, encode: {x: [0, 1], y: 2}, clip: true,
        renderItem: function (params, api) {
          var from = api.coord([api.value(0), api.value(2)]), to = api.coord([api.value(1), api.value(2)]);
          return {type: 'rect', style: {fill: api.visual('color'), opacity: api.style().opacity},
                  shape: {x: from[0], y: from[1] - 5, width: Math.max(to[0] - from[0] - 0.6, 1), height: 10}};
        },
        tooltip: {formatter: function (p) {
          return testbed.escape(testbed.short(p.value[0]) + '–' + testbed.short(p.value[1]) + ' s: ' + p.data.says);
        }}
      }
    };
  }

  function tooltip(p) {
    if (!Array.isArray(p)) return '';
    var seen = {}, rows = [];
    p.forEach(function (one) {
      if (one.seriesType !== 'line' || seen['$' + one.seriesName] || one.value[1] === null) return;
      seen['$' + one.seriesName] = true;
      rows.push(one.marker + testbed.escape(one.seriesName) + '&ensp;<b>' + testbed.escape(unit(one)) + '</b>');
    });
    return rows.length === 0 ? '' : 'second ' + testbed.short(p[0].axisValue) + '<br>' + rows.join('<br>');
  }
  function unit(one) {
    if (/^device/.test(one.seriesName)) return testbed.decimalBytes(one.value[1]) + '/s';
    if (/rate/.test(one.seriesName)) return testbed.short(one.value[1]) + '/s';
    return testbed.time(one.value[1]);
  }

  function positive(values) {
    return values.map(function (v) { return v > 0 ? v : null; });
  }

  // Returns the panels from the top, each with its title, its height and its lines.
  function panels(theme, series, open) {
    var look = function (i) { return testbed.look(i, theme); }, list = [];
    var rates = [['rate', testbed.rates(series), look(0)]], kinds = Object.keys(series.count_by_operation || {});
    if (kinds.length > 1) {
      kinds.forEach(function (kind, i) {
        rates.push(['rate of ' + kind, testbed.rates(series, series.count_by_operation[kind]), look(i + 1)]);
      });
    }
    list.push({title: 'operations per second', height: 150, lines: rates, format: testbed.axis, from: 0});
    var latencies = [['median', 'p50_us', 2], ['99 %', 'p99_us', 4], ['slowest', 'max_us', 1]].filter(function (one) { return series[one[1]]; });
    if (latencies.length > 0) {
      list.push({title: open ? 'latency from the actual start' : 'latency', height: 150, log: true, format: testbed.time, lines: latencies.map(function (one) {
        return [one[0], positive(series[one[1]]), look(one[2])];
      })});
    }
    if (series.device_read_bytes && series.device_write_bytes) {
      list.push({title: 'device, bytes per second', height: 100, format: testbed.decimalBytes, from: 0, lines: [
        ['device reads', perSecond(series, series.device_read_bytes), look(0)],
        ['device writes', perSecond(series, series.device_write_bytes), look(1)]
      ]});
    }
    return list;
  }

  // Returns the legend of a panel, with the names of its lines beside its title.
  function panelLegend(theme, panel, top, narrow) {
    var legend = testbed.plotLegend(theme, panel.lines.map(function (one) { return one[0]; }));
    legend.type = 'scroll';
    legend.align = 'left';
    legend.top = top - (narrow ? 23 : 25);
    if (narrow) return legend;
    legend.left = null;
    legend.right = 10;
    legend.width = '70%';
    return legend;
  }

  // The axis ends where the phase does, though the lines of a panel may end before (tooShort).
  function panelAxes(theme, option, at, title, end, last, narrow, settings) {
    option.xAxis.push(testbed.plotAxis(theme, {
      type: 'value', gridIndex: at, min: 0, max: end, splitLine: {show: false}, name: last ? 'seconds' : '',
      nameLocation: 'middle', nameGap: 26, axisLabel: {show: last, formatter: testbed.axis, alignMaxLabel: 'right'}, axisTick: {show: last, lineStyle: {color: theme.rule}}
    }));
    settings.gridIndex = at;
    option.yAxis.push(testbed.plotAxis(theme, settings));
    option.title.push({text: title, left: leftEdge(narrow), top: option.grid[at].top - (narrow ? 40 : 22), padding: 0,
                       textStyle: {fontSize: 12, fontWeight: 600, color: theme.ink, fontFamily: theme.font}});
  }

  // Returns the plot of a phase's rate, latency, device traffic and background work on one time axis; null without a
  // series of at least two entries.
  testbed.timePlot = function (phase, theme, width) {
    var series = phase.series;
    if (!series || !series.end_seconds || series.end_seconds.length < 2) return null;
    var narrow = width < 560, option = testbed.basePlot(theme), stalls = testbed.stalls(series), top = narrow ? 42 : 26;
    var end = series.end_seconds[series.end_seconds.length - 1];
    option.legend = [];
    option.grid = [];
    option.xAxis = [];
    option.yAxis = [];
    option.title = [];
    option.series = [];
    var list = panels(theme, series, testbed.isOpen(phase)), lane = lanes(theme, series, list.length);
    list.forEach(function (panel, at) {
      option.grid.push(grid(top, panel.height, narrow));
      panelAxes(theme, option, at, panel.title, end, at + 1 === list.length && lane.names.length === 0, narrow,
                {type: panel.log ? 'log' : 'value', min: panel.from, splitNumber: panel.log ? 6 : 3, axisLabel: {formatter: panel.format}});
      panel.lines.forEach(function (one, i) {
        option.series.push(line(theme, at, one[0], steps(series, one[1]), one[2],
                                i === 0 ? {markArea: stallMarks(theme, stalls, at === 0)} : {}));
      });
      option.legend.push(panelLegend(theme, panel, option.grid[at].top, narrow));
      top += panel.height + (narrow ? 64 : 46);
    });
    if (lane.names.length > 0) {
      var height = lane.names.length * 18;
      option.grid.push(grid(top, height, narrow));
      panelAxes(theme, option, list.length, 'background work', end, true, narrow, {
        type: 'category', data: lane.names, inverse: true, axisTick: {show: false}, splitLine: {show: false},
        axisLabel: {fontSize: 10, inside: narrow, interval: 0}
      });
      if (!narrow) option.grid.forEach(function (g) { g.left = 110; });
      if (!narrow) option.title.forEach(function (t) { t.left = 110; });
      option.series.push(lane.series);
      top += height + 46;
    }
    option.axisPointer = {link: [{xAxisIndex: 'all'}], lineStyle: {color: theme.rest}};
    option.tooltip.trigger = 'axis';
    option.tooltip.formatter = tooltip;
    return {option: option, height: top, stalls: stalls};
  };

  var memoryParts = [['process_memory_bytes', 'process, its engine\u2019s cache included'], ['page_cache_bytes', 'page cache'],
                     ['kernel_memory_bytes', 'kernel']];

  // Returns the plot of the memory's parts over a phase's time; null when the series does not have them.
  testbed.memoryPlot = function (phase, theme, width) {
    var series = phase.series, memory = {}, narrow = width < 560;
    if (!series || !series.page_cache_bytes || series.end_seconds.length < 2) return null;
    var known = memoryParts.filter(function (part) { return series[part[0]]; }), order = known.map(function (part) { return part[1]; });
    known.forEach(function (part) { memory[part[1]] = series[part[0]]; });
    var option = testbed.basePlot(theme), limit = (phase.memory || {}).limit;
    var above = testbed.legendHeight(order, width);
    option.grid = [grid(18 + above, 200, narrow)];
    option.xAxis = testbed.plotAxis(theme, {type: 'value', min: 0, max: 'dataMax', splitLine: {show: false}, name: 'seconds',
                                            nameLocation: 'middle', nameGap: 26, axisLabel: {formatter: testbed.axis}});
    var most = Math.max(limit || 0, Math.max.apply(null, series.end_seconds.map(function (end, i) {
      return testbed.sum(order, function (name) { return memory[name][i]; });
    })));
    option.yAxis = testbed.plotAxis(theme, {type: 'value', min: 0, max: most, axisLabel: {formatter: testbed.bytes},
                                            interval: Math.pow(2, Math.max(0, Math.floor(Math.log(most / 3) / Math.LN2)))});
    option.series = order.map(function (name, i) {
      var look = testbed.look(i, theme);
      return {name: name, type: 'line', stack: 'memory', data: steps(series, memory[name]), symbol: 'none', lineStyle: {width: 0}, itemStyle: {color: look.color}, areaStyle: {color: look.color, opacity: 0.8},
              emphasis: {disabled: true}};
    });
    if (limit && option.series.length > 0) {
      option.series[0].markLine = {silent: true, symbol: 'none', data: [{yAxis: limit}], lineStyle: {color: theme.ink, type: 'dashed', width: 1},
                                   label: {position: 'insideEndTop', formatter: '--ram ' + testbed.bytes(limit), color: theme.ink, fontSize: 11}};
    }
    option.legend = testbed.plotLegend(theme, order);
    option.legend.icon = 'roundRect';
    option.legend.itemWidth = 20;
    option.tooltip.trigger = 'axis';
    option.tooltip.formatter = function (p) {
      return 'second ' + testbed.short(p[0].axisValue) + '<br>' + p.map(function (one) {
        return one.marker + testbed.escape(one.seriesName) + '&ensp;<b>' + testbed.bytes(one.value[1]) + '</b>';
      }).join('<br>');
    };
    return {option: option, height: 268 + above};
  };
})(testbed);
