#include "server/strategy.h"

#include <string>

namespace shoal::cluster {

Result<std::unique_ptr<UpdateStrategy>> make_strategy(std::string_view name) {
  if (name == "async") return async_strategy();
  return invalid_argument("there is no update strategy " + std::string(name));
}

}  // namespace shoal::cluster
