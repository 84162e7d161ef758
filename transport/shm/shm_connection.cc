#include "shm_connection.h"

namespace shoal::transport::shm {
namespace {

class ShmConnection final : public Connection {
 public:
  explicit ShmConnection(std::shared_ptr<Link> link)
      : link_(std::move(link)), outgoing_(link_->outgoing()), incoming_(link_->incoming()) {}
  ~ShmConnection() override { link_->close(unavailable(*link_->name() + ": the connection was closed")); }

  const Endpoint& peer() const override { return link_->peer(); }
  bool try_send(Message& message) override { return outgoing_->push(message) == Channel::Push::kDone; }
  Task<Result<void>> send(Message message, Deadline deadline) override {
    return send_through(outgoing_, link_->senders(), link_->name(), std::move(message), deadline);
  }
  Task<Result<Message>> receive(Deadline deadline) override {
    return receive_through(incoming_, link_->receiver(), link_->name(), deadline);
  }
  void close(Error reason) override { link_->close(std::move(reason)); }
  void set_receive_limit(uint64_t bytes) override { link_->set_receive_limit(bytes); }

 private:
  std::shared_ptr<Link> link_;
  std::shared_ptr<Channel> outgoing_;
  std::shared_ptr<Channel> incoming_;
};

}  // namespace

std::unique_ptr<Connection> make_shm_connection(std::shared_ptr<Link> link) {
  return std::make_unique<ShmConnection>(std::move(link));
}

}  // namespace shoal::transport::shm
