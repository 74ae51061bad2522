// The answer to "what does one operation cost the device, and why?" of a phase, in sentences. ECMAScript 5.
(function (testbed) {
  'use strict';

  testbed.engineName = function (run, document) {
    return (run.engine && run.engine.name) || (document.options && document.options.engine) || 'engine';
  };

  // Returns the phases of a run that are results: loads and measurements.
  testbed.resultPhases = function (run) {
    var list = [];
    (run.phases || []).forEach(function (phase, i) {
      if ((phase.kind === 'measure' || phase.kind === 'load') && phase.operations) list.push(i);
    });
    return list;
  };

  // Returns the index of the phase whose result the page shows first: the last measured one, otherwise the last load;
  // -1 without either.
  testbed.mainPhase = function (run) {
    var list = testbed.resultPhases(run);
    for (var i = list.length - 1; i >= 0; --i) if (run.phases[list[i]].kind === 'measure') return list[i];
    return list.length > 0 ? list[list.length - 1] : -1;
  };

  function clients(run) { return run.threads + (run.threads === 1 ? ' client' : ' clients'); }

  // Returns the sentence on the rate and latency that the clients saw.
  function rateSentence(run, phase) {
    var one = phase.operations.length === 1 ? phase.operations[0] : null;
    var text = phase.name + ' with ' + clients(run) + ': ' + testbed.short(phase.rate) + ' operations a second';
    if (one) {
      var us = one.latency_us;
      return text + '; half took up to ' + testbed.time(us.p50) + ', 99 % up to ' + testbed.time(us.p99) + ', the slowest ' + testbed.time(us.max) + '.';
    }
    return text + '; of it ' + phase.operations.map(function (op) {
      return testbed.short(op.rate) + ' ' + op.name + ' (99 % within ' + testbed.time(op.latency_us.p99) + ')';
    }).join(', ') + '.';
  }

  // Returns the sentence on reads: how many each cache answered, and how many the device had to answer.
  function readSentence(phase) {
    var account = phase.account || {}, engine = account.engine || {}, device = account.device, parts = [];
    if (!device || !(phase.rows_read > 0) || !(phase.count > 0)) return '';
    if (engine.block_requests > 0) {
      parts.push('the engine\u2019s cache answered ' + testbed.percent(engine.block_hits / engine.block_requests) + ' of its block requests');
    }
    parts.push('the device read ' + testbed.short(device.reads / phase.count) + ' times and ' + testbed.bytes(device.read_bytes / phase.count) + ' for each operation');
    return sentence(parts);
  }

  function writeSentence(phase) {
    var account = phase.account || {}, device = account.device;
    if (!device || !(phase.user_bytes_written > 0)) return '';
    var flows = testbed.flows(account, 'write'), own = device.write_bytes - flows.foreign;
    var text = 'For each byte of keys and values the device wrote ' + testbed.short(own / phase.user_bytes_written) + ' bytes';
    var most = flows.causes.slice().sort(function (a, b) { return b.kernel - a.kernel; })[0];
    if (most && most.kernel > 0 && own > 0) text += ', ' + testbed.percent(most.kernel / own) + ' of them by ' + most.name;
    return text + '.';
  }

  function sentence(parts) {
    var text = parts.join('; ');
    return text.charAt(0).toUpperCase() + text.slice(1) + '.';
  }

  // Returns the sentences on how far the result can be trusted: [{text, alarm}].
  testbed.confidence = function (document, run, phase) {
    var says = [], closure = (phase.account || {}).closure, series = phase.series || {};
    if (document.partial || run.partial || phase.partial) says.push({text: 'The run was interrupted: this is a part of it.', alarm: true});
    if (run.error) says.push({text: 'The run failed: ' + run.error.sentence, alarm: true});
    (document.not_in_force || []).forEach(function (setting) {
      says.push({text: '--' + setting.option + ' was not in force: ' + setting.why, alarm: true});
    });
    if (phase.wrong > 0) says.push({text: testbed.count(phase.wrong) + ' of ' + testbed.count(phase.verified) + ' checked answers were wrong.', alarm: true});
    if (phase.foreign_cpu_share >= 0.05) {
      says.push({text: 'Other programs used ' + testbed.percent(phase.foreign_cpu_share) + ' of the processors: rates and times are not the engine\u2019s alone.', alarm: true});
    }
    var stalls = series.end_seconds ? testbed.stalls(series) : [];
    if (stalls.length > 0) {
      var longest = stalls.slice().sort(function (a, b) { return (b.to - b.from) - (a.to - a.from); })[0];
      says.push({text: (stalls.length === 1 ? 'One stall, from second ' : stalls.length + ' stalls, the longest from second ') + testbed.short(longest.from) + ' to ' +
                       testbed.short(longest.to) + ': ' + testbed.short(longest.rate) + ' operations a second, the slowest operation ' + testbed.time(longest.worst) + '.', alarm: true});
    }
    var steady = phase.steady || {};
    if (steady.rate === true) says.push({text: 'The rate had settled.'});
    if (steady.rate === false) says.push({text: 'The rate had not settled: it still moved in the second half of the phase.', alarm: phase.kind === 'measure'});
    if (closure) {
      var off = Math.abs(closure.reads) + Math.abs(closure.writes) + Math.abs(closure.read_bytes) + Math.abs(closure.write_bytes);
      says.push({text: off === 0 ? 'The account closes: all threads together caused what the device counted, to the request and the byte.'
                                 : 'The account is off by ' + testbed.count(closure.reads) + ' reads (' + testbed.count(closure.read_bytes) + ' bytes) and ' +
                                   testbed.count(closure.writes) + ' writes (' + testbed.count(closure.write_bytes) + ' bytes).', alarm: off !== 0});
    }
    var grade = phase.grade || (run.accounting || {}).grade;
    if (grade) {
      var reasons = phase.grade_reasons || (run.accounting || {}).grade_reasons || [];
      says.push({text: 'Grade ' + grade + (reasons.length > 0 ? ': ' + reasons.join('; ') + '.' : ': the exact account.')});
    }
    return says;
  };

  // Returns the sentences that answer the question above for a phase.
  testbed.answers = function (run, phase) {
    return [rateSentence(run, phase), readSentence(phase), writeSentence(phase)].filter(function (s) { return s !== ''; });
  };
})(testbed);
