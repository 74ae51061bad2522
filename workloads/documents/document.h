// Workloads document-load and document-query measure what it costs to get one attribute out of a
// document of many attributes, by the format of the documents.
//
// document-load puts a document for each row of the data set under the row's key
// (workloads/documents/format.h), rows_per_transaction documents per operation. document-query gets
// a document by its key through the engine's index, matches _id and y, and makes a new document of
// these two. A share of 1 - hit_ratio of the queries asks for a y that no document has. For a
// sample of the queries, Details() splits the time between the engine's Get, parsing and matching,
// projecting, and, within the last two, allocation.
//
// The question is from M. Callaghan, "Overhead of reading the Nth attribute in a document for
// MongoDB & TokuMX", 2014.
#ifndef TESTBED_WORKLOADS_DOCUMENTS_DOCUMENT_H_
#define TESTBED_WORKLOADS_DOCUMENTS_DOCUMENT_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo DocumentLoadInfo();
WorkloadInfo DocumentQueryInfo();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_DOCUMENT_H_
