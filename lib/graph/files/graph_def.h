// GraphDef <-> Graph. Internal (protobuf); users include io.h.
#pragma once

#include <memory>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/proto/graph.pb.h"

namespace panto {

class FileFunctions;

// The GraphDef version that this reader understands, and the version that it writes for new graphs. The latter is old
// enough that TensorFlow 1.15 and 2.x accept every op without deprecation warnings, and new enough for the forms used
// (min_consumer 0).
inline constexpr int kConsumerVersion = 2314;
inline constexpr int kProducerVersion = 175;

Graph graph_from_proto(const graphdef::GraphDef& proto, const ImportOptions& options);
// For a graph whose functions were read already (the body of one of them).
Graph graph_from_proto(const graphdef::GraphDef& proto, const ImportOptions& options,
                       std::shared_ptr<FileFunctions> functions);
void graph_to_proto(const Graph& graph, const ExportOptions& options, graphdef::GraphDef* proto);

}  // namespace panto
