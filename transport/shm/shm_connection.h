#pragma once
#include "link.h"

namespace shoal::transport::shm {

/// The handle that the task holds. Its destructor closes.
std::unique_ptr<Connection> make_shm_connection(std::shared_ptr<Link> link);

}  // namespace shoal::transport::shm
