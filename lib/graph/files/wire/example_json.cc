#include "panto/lib/graph/files/wire/example_json.h"

#include <google/protobuf/util/json_util.h>

#include <string_view>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/proto/example.pb.h"

namespace panto {

std::string example_from_json(const std::string& json) {
  graphdef::Example example;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &example);
  if (!status.ok()) {
    const auto text = status.message();
    invalid("json: expected an Example, got other text: {}", std::string_view(text.data(), text.size()));
  }
  return example.SerializeAsString();
}

}  // namespace panto
