// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface of the two parts in a rendezvous (the host is rank 0, other ranks are guests), and common functions.
#include <string>

#include "job/rendezvous/own_port.h"

namespace shoal::cluster {

class Rendezvous::Part {
 public:
  virtual ~Part() = default;
  virtual Task<Result<Gathering>> meet() = 0;
  virtual Task<Result<void>> close() = 0;
};

/// Makes the implementation of a rendezvous for rank 0.
std::unique_ptr<Rendezvous::Part> make_host(Environment& env, const RendezvousOptions& options, uint64_t incarnation);
/// Makes the implementation of a rendezvous for any other rank.
std::unique_ptr<Rendezvous::Part> make_guest(Environment& env, const RendezvousOptions& options, uint64_t incarnation);

/// Names a rank in sentences: "rank 3 (worker 1)".
std::string rank_name(const ClusterSize& plan, int32_t rank);
/// Lists missing ranks: "rank 3 (worker 1), rank 5 (worker 3) and 4 more".
std::string missing_text(const ClusterSize& plan, const Missing& missing);

/// Makes a control message. It contains `incarnation`, the random number that this process drew at its start and by which
/// peers recognise the process.
transport::Message make_word(Environment& env, uint64_t incarnation, std::string_view verb, const std::string& text);

}  // namespace shoal::cluster
