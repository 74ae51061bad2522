// Guesses which name a user meant by a word that is none, for the sentences that refuse the word.
// Thread-safe.
#ifndef TESTBED_DEVICE_NEAREST_NAME_H_
#define TESTBED_DEVICE_NEAREST_NAME_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace testbed {

// Returns how many letters must be changed, added, left out or swapped with their neighbour to make
// one word of the other (optimal string alignment).
inline size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

// Returns the name with the smallest edit distance to `word`. When all names are further than 1 + a
// quarter of the word's length away, returns the first name that begins with `word`, or an empty
// string when no name does.
inline std::string NearestName(const std::string& word, const std::vector<std::string>& names) {
  if (word.empty()) return "";  // every name begins with an empty word
  std::string nearest;
  size_t least = 1 + word.size() / 4;  // a name that is further away is a different word
  for (const std::string& name : names) {
    const size_t distance = EditDistance(word, name);
    if (distance > least || (distance == least && !nearest.empty())) continue;
    nearest = name;
    least = distance;
  }
  if (!nearest.empty()) return nearest;
  const auto begins = std::find_if(names.begin(), names.end(),
                                   [&](const std::string& name) { return name.starts_with(word); });
  return begins == names.end() ? "" : *begins;
}

// Returns the end of a sentence, "; did you mean NAME?", with that name; an empty string without
// one.
inline std::string DidYouMean(const std::string& word, const std::vector<std::string>& names) {
  const std::string guess = NearestName(word, names);
  return guess.empty() ? "" : "; did you mean " + guess + "?";
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_NEAREST_NAME_H_
