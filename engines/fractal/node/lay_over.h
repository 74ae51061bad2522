// This header has the rule by which messages change the rows of a leaf. Flushes, cursors and the
// check of a database all follow it. A put takes the place of the row with its key, or becomes a
// row; an erase leaves that row out, if there is one; all other rows stay. Of two messages for one
// key the one in the higher node is the newer, and alone decides.
//
//   BasementBuilder builder(page_size);
//   LayOver(*rows, messages, [&](std::string_view key, std::string_view value) {
//     builder.Add(key, value);
//   });
//
// Rows and messages are each in ascending order of their keys, no two of which are equal, as
// Basement::Validate and MessageBuffer see to. What `take` throws passes through.
#ifndef TESTBED_ENGINES_FRACTAL_NODE_LAY_OVER_H_
#define TESTBED_ENGINES_FRACTAL_NODE_LAY_OVER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engines/fractal/node/basement.h"
#include "engines/fractal/node/message_buffer.h"

namespace testbed::fractal {

// Calls take(key, value), in key order, for each row that there is after the messages are applied.
template <typename Take>
void LayOver(const Basement& rows, std::span<const Message> messages, Take&& take) {
  uint32_t at = 0;
  for (const Message& message : messages) {
    for (; at < rows.count() && rows.key(at) < message.key; ++at) {
      take(rows.key(at), rows.value(at));
    }
    if (at < rows.count() && rows.key(at) == message.key) ++at;
    if (!message.erase) take(message.key, message.value);
  }
  for (; at < rows.count(); ++at) take(rows.key(at), rows.value(at));
}

// Returns the rows after all messages with low <= key < high that wait above them are applied, in
// one basement of any length. Without `high` it applies all messages from `low` on. `above` has the
// buffers on the way from the root to the leaf, the root's first. The caller keeps them as they are
// meanwhile.
BasementRef LayBuffersOver(BasementRef rows, std::span<const MessageBuffer* const> above,
                           std::string_view low, std::optional<std::string_view> high);

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_NODE_LAY_OVER_H_
