// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Handles the requests of connected trainers.
#include <string_view>

#include "server/commits.h"
#include "server/core.h"
#include "server/reads.h"

namespace shoal::cluster {

class Requests {
 public:
  /// `core` and `commits` outlive this object.
  Requests(ServerCore& core, Commits& commits);

  /// Carries out `request` and answers it. A push is answered only when an order commits or drops it. An error ends the
  /// connection.
  Task<Result<void>> handle(Session& session, transport::Message request);
  transport::Message welcome(const Session& session);
  void set_receive_limit(Session& session);

 private:
  Task<Result<void>> handle_pull(Session& session, transport::Message request);
  Task<Result<void>> handle_chunk(Session& session, transport::Message request);
  Task<Result<void>> handle_control(Session& session, transport::Message request);
  Task<Result<void>> handle_rest(Session& session, transport::Message request);
  bool is_newest(const Session& session) const;
  RestNews rest_news(const Session& session) const;
  Task<Result<transport::Message>> chief_control(Session& session, transport::Control control);
  Task<Result<transport::Message>> hold(Session& session, std::string_view text);
  Task<Result<void>> prepare(Session& session, std::string_view text);
  Task<Result<void>> build(Session& session, transport::Encoding gradients);
  Task<Result<void>> activate(std::string_view text);
  Task<Result<void>> begin();
  Task<Result<void>> await_change(std::string_view seen);
  Task<Result<transport::Message>> read(Result<ArenaRead> what);
  Task<Result<void>> handle_residuals(Session& session, transport::Message request);
  Task<Result<void>> take_part(Session& session, const transport::Message& request);

  ServerCore& core_;
  Commits& commits_;
  Environment& env_;
  ServerState& state_;
};

}  // namespace shoal::cluster
