#include "json_text.h"

#include <nlohmann/json.hpp>

namespace shoal::checkpoint {

using Json = nlohmann::json;

std::string json_string(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shoal::checkpoint
