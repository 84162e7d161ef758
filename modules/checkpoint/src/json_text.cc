#include "json_text.h"

#include <nlohmann/json.hpp>

namespace shoal::checkpoint {

using Json = nlohmann::json;

std::string json_string(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool survives_json(std::string_view text) {
  const std::string literal = json_string(text);
  const Json back = Json::parse(literal, nullptr, false);
  return back.is_string() && back.get_ref<const std::string&>() == text;
}

}  // namespace shoal::checkpoint
