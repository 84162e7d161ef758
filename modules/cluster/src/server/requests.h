#pragma once
/// What trainers ask of a parameter server once they are connected, and what it answers.
#include <memory>
#include <string_view>
#include <vector>

#include "server/reads.h"
#include "server/session.h"
#include "server/turns.h"
#include "shoal/cluster/parameter_server.h"

namespace shoal::cluster {

class Requests {
 public:
  /// `options` outlive this.
  Requests(Environment& env, const ParameterServerOptions& options);

  /// Does what `request` asks for, and answers. An error ends the connection.
  Task<Result<void>> handle(Session& session, transport::Message request);
  Task<Result<void>> reply(Session& session, const transport::MessageHead& request, transport::Message answer,
                           uint8_t status = kStatusOk);
  transport::Message welcome(const Session& session);
  transport::Message finished();
  void set_receive_limit(Session& session);

  ServerState& state() { return state_; }
  /// Notified whenever anything of the state has changed that somebody may wait for.
  const std::shared_ptr<Event>& changed() const { return changed_; }
  /// The server ends: who waits inside of a request gives up.
  void close();
  bool closed() const { return closed_; }

 private:
  using Work = UniqueFunction<void(const ParallelFor&)>;

  Task<Result<Turns::Turn>> turn() { return turns_.take(env_.after(options_.ready_timeout)); }
  Task<Result<void>> compute(uint64_t bytes, Work work);

  Task<Result<void>> handle_pull(Session& session, transport::Message request);
  Task<Result<void>> handle_chunk(Session& session, transport::Message request);
  Task<Result<void>> handle_control(Session& session, transport::Message request);
  Task<Result<transport::Message>> chief_control(Session& session, transport::Control control);
  Task<Result<void>> prepare(Session& session, std::string_view text);
  Task<Result<transport::Message>> read(Result<ArenaRead> what);
  Task<Result<void>> handle_residuals(Session& session, transport::Message request);
  Task<Result<void>> take_part(Session& session, const transport::Message& request);
  Task<Result<bool>> take_push(Session& session, transport::MessageHead head);
  void tell_witness(const Session& session, const transport::MessageHead& head);
  Task<Result<std::vector<transport::Message>>> newest(transport::Encoding encoding, uint64_t has);
  Task<Result<void>> reply_parts(Session& session, transport::MessageHead request, std::vector<transport::Message> parts,
                                 uint8_t status = kStatusOk);

  Environment& env_;
  const ParameterServerOptions& options_;
  ServerState state_;
  Turns turns_;  // to change state_
  const std::shared_ptr<Event> changed_;
  bool closed_ = false;
};

}  // namespace shoal::cluster
