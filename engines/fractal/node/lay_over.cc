#include "engines/fractal/node/lay_over.h"

#include <vector>

namespace testbed::fractal {

BasementRef LayBuffersOver(BasementRef rows, std::span<const MessageBuffer* const> above,
                           std::string_view low, std::optional<std::string_view> high) {
  for (size_t level = above.size(); level-- > 0;) {  // from the oldest messages up
    std::vector<Message> messages;
    above[level]->Range(low, high, &messages);
    if (messages.empty()) continue;
    BasementBuilder builder(SIZE_MAX / 2);
    LayOver(*rows, messages,
            [&builder](std::string_view key, std::string_view value) { builder.Add(key, value); });
    rows = builder.Finish();
  }
  return rows;
}

}  // namespace testbed::fractal
