// Documents of the workloads document-load and document-query, and the formats that they can be
// stored in. A document has the attributes _id, x1 to xN (xK has the value K) and y (which has that
// of _id); y comes right after _id or last.
//
//   auto codec = MakeDocumentCodec("bson", {1000, false}, DocumentAccess::kWhole);
//   codec->Encode(7, &document);
//   if (codec->Match(document, 7, 7)) answer = codec->Project();   // a document of _id and y
//
// | format        | how an attribute is found                                               |
// |---------------|-------------------------------------------------------------------------|
// | bson          | by walking: elements of varying length, each with its name (libbson)     |
// | cbor          | by parsing: into a tree, or an event an attribute (nlohmann/json)        |
// | flexbuffers   | binary search among names, which are kept sorted                         |
// | flatbuffers   | by number: a table of offsets; names are in the schema, not the document |
#ifndef TESTBED_WORKLOADS_DOCUMENTS_FORMAT_H_
#define TESTBED_WORKLOADS_DOCUMENTS_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace testbed {

struct DocumentShape {
  uint32_t attributes = 10;  // N, of x1 to xN
  bool y_first = false;
};

// How much of a document a query looks at.
enum class DocumentAccess : uint8_t {
  kWhole,   // all of it, as a server does that parses a document before it projects
  kNeeded,  // no more than it takes to find _id and y
};

using Attributes = std::vector<std::pair<std::string, int64_t>>;

// One thread's. Keeps its memory from one document to the next.
class DocumentCodec {
 public:
  virtual ~DocumentCodec() = default;
  // Replaces *document by the document of this id. The same id gives the same bytes.
  virtual void Encode(int64_t id, std::string* document) = 0;
  // Whether the document has these values of _id and y; remembers them for Project.
  virtual bool Match(std::string_view document, int64_t id, int64_t y) = 0;
  // A new document of what Match found: _id and y. Valid until the next call.
  virtual std::string_view Project() = 0;
  // What is in a document made by Project, and in one made by Encode, in the order in which it is
  // stored.
  virtual Attributes DecodeAnswer(std::string_view answer) = 0;
  virtual Attributes Decode(std::string_view document) = 0;
};

// "bson", "cbor", "flexbuffers", "flatbuffers".
const std::vector<std::string>& DocumentFormats();

// Throws Error (kUsage) for a format that is not one.
std::unique_ptr<DocumentCodec> MakeDocumentCodec(const std::string& format,
                                                 const DocumentShape& shape, DocumentAccess access);

// The document of an id as it must be decoded, in the order in which it was encoded.
Attributes ExpectedAttributes(const DocumentShape& shape, int64_t id);

// The formats' own; use MakeDocumentCodec.
std::unique_ptr<DocumentCodec> MakeBsonCodec(const DocumentShape& shape, DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeCborCodec(const DocumentShape& shape, DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeFlexbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeFlatbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_FORMAT_H_
