// Formats figures for people, and looks them up in a document. ECMAScript 5: the program executes this file, too
// (tools/html/plot_files.h).
var testbed = {};

(function (testbed) {
  'use strict';

  // Returns the number with about three significant digits: 30,327, 0.946, 5.8e-6; 3.00e+21, which no counter reaches.
  function short(x) {
    if (x === null || x === undefined || !isFinite(x)) return '–';
    var size = Math.abs(x);
    if (size === 0) return '0';
    if (size >= 1e18) return x.toExponential(2);
    if (size >= 999.5) return count(Math.round(x));
    if (size < 0.001) return x.toExponential(1).replace('e-0', 'e-');
    return String(parseFloat(x.toPrecision(3)));
  }

  // Returns a whole number with a comma after each three digits.
  function count(n) {
    if (n === null || n === undefined || !isFinite(n)) return '–';
    var digits = String(Math.abs(Math.round(n)));
    if (digits.indexOf('e') >= 0) return short(n);
    return (n < 0 ? '−' : '') + digits.replace(/\B(?=(\d{3})+$)/g, ',');
  }

  // Returns a number, as it is shown, with its noun: "1 row", "1,200 rows". Only a plural that does not end in "s" alone
  // is given. The program's own sentences have WithNoun (tools/output/table.h) for this.
  function counted(shown, noun, plural) {
    return shown + ' ' + (/^[−-]?1$/.test(shown) ? noun : plural || noun + 's');
  }

  // Returns the number with the unit that suits it. What would be rounded to `base` has the next unit: 1 ms, not 1000 µs.
  function scaled(x, units, base) {
    if (x === null || x === undefined || !isFinite(x)) return '–';
    var i = 0;
    while (Math.abs(x) >= base - 0.5 && i + 1 < units.length) {
      x /= base;
      ++i;
    }
    var text = Math.abs(x) >= 100 || x === 0 ? String(Math.round(x)) : String(parseFloat(x.toPrecision(3)));
    return text + ' ' + units[i];
  }

  // Returns bytes as 13.1 KiB.
  function bytes(b) {
    return scaled(b, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1024);
  }

  // Returns bytes in steps of a thousand, as devices are rated: 143 MB.
  function decimalBytes(b) {
    return scaled(b, ['B', 'kB', 'MB', 'GB', 'TB'], 1000);
  }

  // Returns microseconds as 253 µs, 9.44 ms or 1.2 s.
  function time(us) {
    if (us !== null && us !== undefined && us > 0 && us < 0.9995) return scaled(us * 1000, ['ns'], 1e9);
    return scaled(us, ['µs', 'ms', 's'], 1000);
  }

  // Returns 0.123 as 12.3 %. What is less than 1 is less than 100 %: of 0.99996 the distance to 1 has a digit.
  function percent(share) {
    if (share === null || share === undefined || !isFinite(share)) return '–';
    var rounded = parseFloat((share * 100).toPrecision(share !== 0 && Math.abs(share) < 0.01 ? 1 : 3));
    if (share < 1 && rounded >= 100) rounded = parseFloat((100 - ((1 - share) * 100).toPrecision(1)).toPrecision(12));
    return rounded + ' %';
  }

  // Returns 1000, 12000, 3e6 as an axis has them: 1k, 12k, 3M.
  function axis(x) {
    var size = Math.abs(x);
    if (size >= 1e9) return parseFloat((x / 1e9).toPrecision(3)) + 'G';
    if (size >= 1e6) return parseFloat((x / 1e6).toPrecision(3)) + 'M';
    if (size >= 1e3) return parseFloat((x / 1e3).toPrecision(3)) + 'k';
    return String(parseFloat(x.toPrecision(3)));
  }

  // Returns what the JSON pointer names in the document; undefined when it names nothing.
  function at(document, pointer) {
    var here = document, parts = pointer.split('/');
    for (var i = 1; i < parts.length; ++i) {
      if (here === null || typeof here !== 'object') return undefined;
      here = here[parts[i].replace(/~1/g, '/').replace(/~0/g, '~')];
    }
    return here;
  }

  // Returns the text for HTML, for the few places where the plotting library takes markup.
  function escape(text) {
    return String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
        .replace(/"/g, '&quot;').replace(/'/g, '&#39;');
  }

  // Returns the text on one line, with control characters as spaces.
  function line(text) {
    return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, ' ');
  }

  function sum(list, of) {
    var all = 0;
    for (var i = 0; i < list.length; ++i) all += (of ? of(list[i]) : list[i]) || 0;
    return all;
  }

  // Returns how many operations caused the requests of a phase: those that were answered, and those that got no answer.
  function charged(phase) {
    return phase.count + sum(phase.unanswered || [], function (op) { return op.count; });
  }

  testbed.charged = charged;
  testbed.short = short;
  testbed.count = count;
  testbed.counted = counted;
  testbed.bytes = bytes;
  testbed.decimalBytes = decimalBytes;
  testbed.time = time;
  testbed.percent = percent;
  testbed.axis = axis;
  testbed.at = at;
  testbed.escape = escape;
  testbed.line = line;
  testbed.sum = sum;
})(testbed);
