// The account of a phase (docs/results.md, "The account of a phase") as steps from the operation to the
// device, and as the flows between them. ECMAScript 5.
(function (testbed) {
  'use strict';

  var sum = testbed.sum;
  var kindNames = {
    'data': 'data files', 'log': 'log files', 'binlog': 'binary log files', 'doublewrite': 'doublewrite file', 'temp': 'temporary files',
    'meta': 'metadata files', 'other-file': 'other files', 'fs-journal': 'file system journal',
    'fs-metadata': 'file system metadata'
  };
  testbed.kindName = function (kind) {
    return Object.prototype.hasOwnProperty.call(kindNames, kind) ? kindNames[kind] : kind;
  };

  function bytesOf(counts, way) { return counts ? counts[way + '_bytes'] || 0 : 0; }

  // Returns whether a thread outside the run made this request for the run, such as a kernel thread that writes back
  // pages of its files. A request to other files is another program's (IsOfOtherProgram of tools/report/figures.h).
  function ofTheRun(entry) { return entry.kind !== 'other-file'; }

  // Returns the requests of the device without those of other programs; null when they are not known. Figures per
  // operation are of these.
  testbed.own = function (account) {
    var own = {}, others = (account.other_threads || []).filter(function (entry) { return !ofTheRun(entry); });
    if (account.own || !account.device) return account.own || null;
    ['reads', 'read_bytes', 'writes', 'write_bytes'].forEach(function (figure) {
      own[figure] = Math.max(0, account.device[figure] - sum(others, function (entry) { return entry.kernel[figure]; }));
    });
    return own;
  };

  // Returns the flows of a phase in one way, 'read' or 'write':
  // - causes: [{name, ground, file, kernel, fileByKind, kernelByKind}], in bytes;
  // - writeback: bytes by kind that kernel threads moved for the run's files;
  // - foreign: bytes of other programs; device: bytes by the device's own statistics, or null.
  testbed.flows = function (account, way) {
    var flows = {causes: [], writeback: {}, foreign: 0, device: null};
    (account.causes || []).forEach(function (cause) {
      var one = {name: cause.name, ground: cause.ground, fileByKind: {}, kernelByKind: {},
                 file: bytesOf(cause.file, way), kernel: bytesOf(cause.kernel, way)};
      ['file', 'kernel'].forEach(function (level) {
        var kinds = cause[level + '_by_kind'] || {};
        Object.keys(kinds).forEach(function (kind) {
          var bytes = bytesOf(kinds[kind], way);
          if (bytes > 0) one[level + 'ByKind'][kind] = bytes;
        });
      });
      if (one.file + one.kernel > 0) flows.causes.push(one);
    });
    (account.other_threads || []).forEach(function (entry) {
      var bytes = bytesOf(entry.kernel, way);
      if (ofTheRun(entry)) {
        flows.writeback[entry.kind] = (flows.writeback[entry.kind] || 0) + bytes;
      } else {
        flows.foreign += bytes;
      }
    });
    if (account.device) flows.device = bytesOf(account.device, way);
    flows.causes.sort(function (a, b) { return b.file + b.kernel - a.file - a.kernel; });
    return flows;
  };

  // Returns the mean bytes of a block that the engine's cache missed, from the engine's own count or from the bytes
  // that the operations read from files; 0 when neither is known.
  function blockBytes(account) {
    var engine = account.engine || {}, missed = engine.block_requests - engine.block_hits;
    if (engine.block_reads > 0 && engine.block_read_bytes > 0) return engine.block_read_bytes / engine.block_reads;
    var own = sum(account.causes || [], function (c) {
      return c.ground === 'foreground' ? bytesOf(c.file || c.kernel, 'read') : 0;
    });
    return missed > 0 && own > 0 ? own / missed : 0;
  }

  function level(name, calls, bytes, note, source) {
    return {name: name, calls: calls, bytes: bytes, note: note || '', source: source || ''};
  }

  // Returns the levels of a phase in one way ('read' or 'write'): [{name, calls, bytes, note, aside}], from the operation
  // down to the device. `calls` and `bytes` are totals, or null when the level does not count them. A level that is
  // `aside` is not the run's alone, and has no figures per operation.
  testbed.levels = function (phase, way) {
    var account = phase.account || {}, causes = account.causes || [], engine = account.engine || {};
    var levels = [], calls = way + 's', reads = way === 'read';
    if (reads) {
      levels.push(level('operations', phase.count, null, testbed.counted(testbed.count(phase.rows_read), 'row') + ' read', '/count'));
      if (engine.block_requests !== undefined) {
        var each = blockBytes(account), hit = engine.block_hits / engine.block_requests;
        levels.push(level('engine asks its cache', engine.block_requests, each > 0 ? engine.block_requests * each : null,
                          isFinite(hit) ? testbed.percent(hit) + ' hits' : '', '/account/engine/block_requests'));
      }
    } else if (phase.user_bytes_written > 0) {
      levels.push(level('keys and values written', phase.rows_written, phase.user_bytes_written, '', '/rows_written'));
    }
    var files = causes.filter(function (cause) { return cause.file; });
    if (files.length > 0) {
      levels.push(level('file calls', sum(files, function (c) { return c.file[calls]; }),
                        sum(files, function (c) { return bytesOf(c.file, way); }),
                        reads ? '' : testbed.counted(testbed.count(sum(files, function (c) { return c.file.syncs; })), 'sync')));
    }
    var kernels = causes.filter(function (cause) { return cause.kernel; });
    if (kernels.length > 0) {
      var threads = (account.other_threads || []).filter(ofTheRun).map(function (entry) { return entry.kernel; });
      var parts = kernels.map(function (c) { return c.kernel; }).concat(threads);
      var ahead = sum(parts, function (k) { return k.readahead_reads; });
      levels.push(level('kernel requests', sum(parts, function (k) { return k[calls]; }),
                        sum(parts, function (k) { return bytesOf(k, way); }),
                        reads ? (ahead > 0 ? testbed.count(ahead) + ' by readahead' : '')
                              : testbed.counted(testbed.count(sum(parts, function (k) { return k.flushes; })), 'flush', 'flushes')));
    }
    return levels.concat(deviceLevels(account, way));
  };

  // Returns the levels of the device. Where other programs used it, what they did and what the device did in all stand
  // aside: they are no step of the operations.
  function deviceLevels(account, way) {
    var calls = way + 's', all = account.device, own = testbed.own(account);
    var foreign = (account.other_threads || []).filter(function (entry) { return !ofTheRun(entry); });
    var others = sum(foreign, function (entry) { return entry.kernel[calls]; });
    function ofAll(name) { return level(name, all[calls], bytesOf(all, way), 'by its own statistics', '/account/device/' + calls); }
    if (!all) return [];
    if (!(others > 0)) return [ofAll('device')];
    var aside = [level('other programs', others, sum(foreign, function (entry) { return bytesOf(entry.kernel, way); }), 'not the run\u2019s'),
                 ofAll('device, in all')];
    aside.forEach(function (one) { one.aside = true; });
    return [level('device, of this run', own[calls], bytesOf(own, way), '', '/account/own/' + calls)].concat(aside);
  }

  // The node of the engine. Its name may be that of another node.
  var theEngine = 'the engine';

  function Graph() {
    this.nodes = [];
    this.links = [];
    this.known = {};
  }
  Graph.prototype.node = function (id, depth, label) {
    if (!this.known['$' + id]) {
      this.known['$' + id] = true;
      this.nodes.push({name: id, depth: depth, label: label});
    }
    return id;
  };
  Graph.prototype.link = function (from, to, bytes, work, says) {
    if (bytes > 0) this.links.push({source: from, target: to, value: bytes, work: work, says: says || ''});
  };

  // Joins the causes with less than a hundredth of all bytes into one, so that the picture stays readable.
  function withoutSmall(causes) {
    var all = sum(causes, function (c) { return Math.max(c.file, c.kernel); });
    var large = causes.filter(function (c, i) { return i < 6 && Math.max(c.file, c.kernel) >= all / 100; });
    var small = causes.filter(function (c) { return large.indexOf(c) < 0; });
    if (small.length < 2) return causes;
    var rest = {name: 'other work', ground: 'background', file: 0, kernel: 0, fileByKind: {}, kernelByKind: {}};
    small.forEach(function (c) {
      rest.file += c.file;
      rest.kernel += c.kernel;
      ['fileByKind', 'kernelByKind'].forEach(function (by) {
        Object.keys(c[by]).forEach(function (kind) { rest[by][kind] = (rest[by][kind] || 0) + c[by][kind]; });
      });
    });
    return large.concat([rest]);
  }

  function total(byKind) {
    return sum(Object.keys(byKind), function (kind) { return byKind[kind]; });
  }

  // Returns, by kind, the kernel's bytes of a cause that no counted file call explains: those of the file system's
  // own blocks, and of engines that call the operating system directly. The other kernel bytes flow out of the files'
  // column.
  function direct(cause, fileOf) {
    var bytes = {};
    Object.keys(cause.kernelByKind).forEach(function (kind) {
      if (!fileOf[kind]) bytes[kind] = cause.kernelByKind[kind];
    });
    return bytes;
  }

  // Adds the columns left of the files. For reads they are the operations and the engine's cache; for writes, the
  // bytes that the clients wrote, the engine, and the work that it did.
  function linkEngine(graph, phase, engineName, causes, moved, write) {
    var account = phase.account || {}, engine = account.engine || {};
    graph.node(theEngine, 1, write ? engineName : engineName + ' cache');
    if (write) {
      if (phase.user_bytes_written > 0) {
        graph.link(graph.node('user', 0, 'keys and values'), theEngine, phase.user_bytes_written, 'user', 'written by the clients');
      }
      causes.forEach(function (c) {
        if (moved[c.name] > 0) graph.link(theEngine, graph.node('work ' + c.name, 2, c.name), moved[c.name], c.name, 'caused by ' + c.name);
      });
      return;
    }
    // The engine counts hits for all operations together, so they are divided in proportion to the misses.
    var foreground = causes.filter(function (c) { return c.ground === 'foreground'; });
    var missed = sum(foreground, function (c) { return moved[c.name]; }), hits = (engine.block_hits || 0) * blockBytes(account);
    causes.forEach(function (c) {
      if (!(moved[c.name] > 0)) return;
      graph.node('work ' + c.name, 0, c.name);
      if (c.ground !== 'foreground') return;
      graph.link('work ' + c.name, theEngine, moved[c.name] * (1 + hits / missed), c.name, 'blocks that it asked the engine\u2019s cache for');
    });
    if (hits > 0 && missed > 0) graph.link(theEngine, graph.node('engine hits', 2, 'hits'), hits, 'hit', 'answered by the engine\u2019s cache');
  }

  // Returns the picture of a phase in one way: {nodes: [{name, depth, label}], links: [{source, target, value, work}]}.
  // Widths are bytes. From left to right: what was asked, the engine, files by kind, kernel requests by kind, the
  // device. Where a level moves fewer bytes than the one before, the rest ends in the page cache; where it moves
  // more, the node grows.
  testbed.ledgerGraph = function (phase, engineName, way) {
    var flows = testbed.flows(phase.account || {}, way), graph = new Graph(), write = way === 'write';
    var causes = withoutSmall(flows.causes), fileAt = write ? 3 : 2, fileOf = {}, kernelOf = {}, moved = {};
    causes.forEach(function (c) {
      Object.keys(c.fileByKind).forEach(function (kind) { fileOf[kind] = (fileOf[kind] || 0) + c.fileByKind[kind]; });
    });
    causes.forEach(function (c) { moved[c.name] = total(c.fileByKind) + total(direct(c, fileOf)); });
    linkEngine(graph, phase, engineName, causes, moved, write);
    function kernelNode(kind) { return graph.node('kernel ' + kind, fileAt + 1, testbed.kindName(kind)); }
    function toDevice(kind, bytes, work, says) {
      kernelOf[kind] = (kernelOf[kind] || 0) + bytes;
      graph.link(kernelNode(kind), graph.node('device', fileAt + 2, 'device'), bytes, work, says);
    }
    causes.forEach(function (c) {
      var source = write || c.ground !== 'foreground' ? 'work ' + c.name : theEngine;
      Object.keys(c.fileByKind).forEach(function (kind) {
        graph.link(source, graph.node('file ' + kind, fileAt, testbed.kindName(kind)), c.fileByKind[kind], c.name, 'file calls of ' + c.name);
      });
      Object.keys(c.kernelByKind).forEach(function (kind) {
        var bytes = c.kernelByKind[kind], says = 'kernel requests of ' + c.name;
        graph.link(fileOf[kind] ? 'file ' + kind : source, kernelNode(kind), bytes, c.name, says);
        toDevice(kind, bytes, c.name, says);
      });
    });
    Object.keys(flows.writeback).forEach(function (kind) {
      var bytes = flows.writeback[kind];
      if (!(bytes > 0)) return;
      var from = fileOf[kind] ? 'file ' + kind : graph.node('kernel threads', fileAt, 'kernel threads');
      graph.link(from, kernelNode(kind), bytes, 'kernel threads', 'kernel threads, for the run\u2019s files');
      toDevice(kind, bytes, 'kernel threads', 'kernel threads, for the run\u2019s files');
    });
    Object.keys(fileOf).forEach(function (kind) {
      var rest = fileOf[kind] - (kernelOf[kind] || 0);
      if (rest < total(fileOf) / 500) return;
      graph.link('file ' + kind, graph.node('page cache', fileAt + 1, write ? 'stayed in the page cache' : 'page cache'), rest, 'hit',
                 write ? 'not written to the device in this phase' : 'answered by the page cache');
    });
    if (flows.foreign > total(kernelOf) / 200) {
      graph.link(graph.node('foreign', fileAt + 1, 'other programs'), graph.node('device', fileAt + 2, 'device'), flows.foreign, 'foreign',
                 'requests of other programs');
    }
    var used = {};
    graph.links.forEach(function (link) { used['$' + link.source] = used['$' + link.target] = true; });
    var nodes = graph.nodes.filter(function (node) { return used['$' + node.name]; });
    return {nodes: nodes, links: graph.links, work: causes.map(function (c) { return c.name; })};
  };
})(testbed);
