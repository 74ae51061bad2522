// The documents of document-load and document-query, and the formats in which they can be stored. A
// document has the attributes _id, x1 to xN (xK has the value K) and y (which has the value of
// _id); y comes directly after _id, or last.
//
//   auto codec = MakeDocumentCodec("bson", {1000, false}, DocumentAccess::kWhole);
//   codec->Encode(7, &document);
//   if (codec->Match(document, 7, 7)) answer = codec->Project();   // a document of _id and y
//
// | format        | how an attribute is found                                               |
// |---------------|-------------------------------------------------------------------------|
// | bson          | by a walk: elements of varying length, each with its name (libbson)     |
// | cbor          | by parsing: into a tree, or one event per attribute (nlohmann/json)     |
// | flexbuffers   | by binary search among the names, which are sorted                      |
// | flatbuffers   | by number: a table of offsets; the schema has the names                 |
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
  uint32_t attributes = 10;  // N, the number of attributes x1 to xN
  bool y_first = false;
};

// A DocumentAccess is how much of a document a query reads.
enum class DocumentAccess : uint8_t {
  kWhole,   // all of it, like a server that parses a document before it projects
  kNeeded,  // only what finding _id and y requires
};

using Attributes = std::vector<std::pair<std::string, int64_t>>;

// Encodes and decodes documents of one format. Not thread-safe; each thread has its own codec,
// which reuses its memory from one document to the next.
class DocumentCodec {
 public:
  virtual ~DocumentCodec() = default;
  // Replaces *document by the document of this id. The same id gives the same bytes. Throws Error
  // (kUsage) when the format cannot hold so large a document.
  virtual void Encode(int64_t id, std::string* document) = 0;
  // Returns whether _id and y of the document have these values. Remembers the values for Project.
  virtual bool Match(std::string_view document, int64_t id, int64_t y) = 0;
  // Returns a new document of the _id and y that Match found. The result is valid until the next
  // call.
  virtual std::string_view Project() = 0;
  // Returns the attributes of a document that Project made, in the order in which they are stored.
  virtual Attributes DecodeAnswer(std::string_view answer) = 0;
  // Returns the attributes of a document that Encode made, in the order in which they are stored.
  virtual Attributes Decode(std::string_view document) = 0;
};

// Returns the names of the formats: "bson", "cbor", "flexbuffers", "flatbuffers".
const std::vector<std::string>& DocumentFormats();

// Returns a codec for the format. Throws Error (kUsage) when `format` names none.
std::unique_ptr<DocumentCodec> MakeDocumentCodec(const std::string& format,
                                                 const DocumentShape& shape, DocumentAccess access);

// Returns the attributes of the document of this id, in the order in which Encode writes them.
Attributes ExpectedAttributes(const DocumentShape& shape, int64_t id);

// Constructors of the single formats; call MakeDocumentCodec instead.
std::unique_ptr<DocumentCodec> MakeBsonCodec(const DocumentShape& shape, DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeCborCodec(const DocumentShape& shape, DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeFlexbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access);
std::unique_ptr<DocumentCodec> MakeFlatbuffersCodec(const DocumentShape& shape,
                                                    DocumentAccess access);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_FORMAT_H_
