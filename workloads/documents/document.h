// Workloads document-load and document-query: what it costs to get one attribute out of a document
// of many, by format of the documents.
//
// document-load puts a document for each row of the data set under its key
// (workloads/documents/format.h), rows_per_transaction documents an operation. document-query gets a
// document by its key, so through the engine's index, matches _id and y, and makes of it a new
// document that has _id and y alone. A share of 1 - hit_ratio of the queries asks for a y that no
// document has. On a sample of the queries the time is split between the engine's Get, parsing and
// matching, projecting, and, within the last two, allocation (Details()).
//
// After M. Callaghan, "Overhead of reading the Nth attribute in a document for MongoDB & TokuMX",
// 2014.
#ifndef TESTBED_WORKLOADS_DOCUMENTS_DOCUMENT_H_
#define TESTBED_WORKLOADS_DOCUMENTS_DOCUMENT_H_

#include "workloads/registry.h"

namespace testbed {

WorkloadInfo DocumentLoadInfo();
WorkloadInfo DocumentQueryInfo();

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_DOCUMENT_H_
