// The plot of a run's space on disk. ECMAScript 5.
(function (testbed) {
  'use strict';

  // Returns the bytes of pages that hold nothing at the end of the phase; null when the engine does not count them.
  function freeBytes(document, phase, data) {
    var now = (((phase.account || {}).engine || {}).now) || {}, page = (document.options || {}).page_size;
    var bytes = (now.file_pages - now.used_pages) * page;
    return bytes >= 0 && bytes <= data ? bytes : null;
  }

  // Returns the bytes of the keys and values that were loaded; NaN when they are not known.
  function loadedBytes(document) {
    var data = document.data || {};
    return data.key_bytes + data.value_bytes;
  }

  // Returns the phases of a run at whose end its space is known, in their order: [{index, name, all, log, data, free,
  // times}], in bytes. `data` are all files but those of the log, and `free` is what of them is in free pages, or null.
  // `times` is `data` against the keys and values that were loaded, or null: a log is as large as checkpoints let it grow.
  testbed.spaceRows = function (document, run) {
    var rows = [], loaded = loadedBytes(document);
    (run.phases || []).forEach(function (phase, i) {
      if (typeof phase.database_bytes !== 'number' || phase.kind === 'tune' || phase.kind === 'warm-up') return;
      var log = phase.log_file_bytes || 0, data = phase.database_bytes - log;
      rows.push({index: i, name: String(phase.name), all: phase.database_bytes, log: log, data: data, free: freeBytes(document, phase, data),
                 times: loaded > 0 ? data / loaded : null});
    });
    return rows;
  };

  var parts = [
    ['data files', function (row) { return row.data - (row.free || 0); }],
    ['free pages', function (row) { return row.free || 0; }],
    ['log files', function (row) { return row.log; }]
  ];

  // Returns the plot of what a run had on disk after each phase, by kind of file; null when that is not known. A line
  // marks the bytes of the keys and values that were loaded.
  testbed.spacePlot = function (document, run, theme, width) {
    var rows = testbed.spaceRows(document, run), narrow = width < 560, option = testbed.basePlot(theme);
    if (!rows.some(function (row) { return row.all > 0; })) return null;
    var user = loadedBytes(document), shown = parts.filter(function (part) {
      return rows.some(function (row) { return part[1](row) > 0; });
    });
    var most = Math.max(user || 0, Math.max.apply(null, rows.map(function (row) { return row.all; })));
    option.grid = {left: narrow ? 104 : 140, right: narrow ? 18 : 30, top: narrow ? 66 : 56, bottom: 26};
    option.xAxis = testbed.plotAxis(theme, {
      type: 'value', min: 0, max: most * 1.02, axisLabel: {formatter: testbed.bytes, showMaxLabel: false},
      interval: Math.pow(2, Math.max(0, Math.floor(Math.log(most / (narrow ? 2 : 4)) / Math.LN2)))
    });
    option.yAxis = testbed.plotAxis(theme, {
      type: 'category', inverse: true, data: rows.map(function (row) { return 'after ' + testbed.line(row.name); }), splitLine: {show: false},
      axisTick: {show: false}, axisLabel: {width: narrow ? 96 : 130, overflow: 'truncate', interval: 0}
    });
    option.series = shown.map(function (part) {
      var look = testbed.look(parts.indexOf(part) * 2, theme);
      return {name: part[0], type: 'bar', stack: 'space', barWidth: 16, itemStyle: {color: look.color}, emphasis: {disabled: true},
              data: rows.map(function (row) { return {value: part[1](row)}; })};
    });
    if (user > 0) {
      option.series[0].markLine = {silent: true, symbol: 'none', data: [{xAxis: user}], lineStyle: {color: theme.ink, type: 'dashed', width: 1},
                                   label: {position: 'start', formatter: 'loaded ' + testbed.bytes(user), color: theme.ink, fontSize: 11,
                                           align: user < most / 4 ? 'left' : user > most * 0.75 ? 'right' : 'center'}};
    }
    option.legend = testbed.plotLegend(theme, shown.map(function (part) { return part[0]; }));
    option.legend.icon = 'roundRect';
    option.legend.itemWidth = 20;
    option.legend.show = true;
    option.tooltip.trigger = 'axis';
    option.tooltip.axisPointer = {type: 'shadow'};
    option.tooltip.formatter = function (p) {
      return testbed.escape(p[0].axisValue) + '<br>' + p.map(function (one) {
        return one.marker + testbed.escape(one.seriesName) + '&ensp;<b>' + testbed.bytes(one.value) + '</b>';
      }).join('<br>');
    };
    return {option: option, height: (narrow ? 92 : 82) + rows.length * 26};
  };
})(testbed);
