// Workloads document-load and document-query. They measure what it costs to read one attribute of a
// document that has many, for several document formats.
//
// document-load stores a document for each row of the data set under the row's key
// (workloads/documents/format.h). One operation stores rows_per_transaction documents.
// document-query gets a document by its key through the engine's index, checks _id and y, and makes
// a new document of _id and y alone. A share of 1 - hit_ratio of the queries asks for a y that no
// document has. For a sample of the queries, Details() splits the time between the engine's Get,
// parsing and matching, projecting, and, within the last two, allocation, each without the cost of
// reading the clock (clock_cost.h).
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
