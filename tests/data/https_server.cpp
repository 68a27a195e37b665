#include "data/https_server.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace sweetspot::data {

HttpsServer::HttpsServer() {
  std::filesystem::create_directory(folder_ / "files");
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  process_ = fork();
  if (process_ == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    const std::string folder = folder_.path().string();
    execl("/usr/bin/python3", "python3", "-B", SWEETSPOT_SOURCE_DIR "/tests/data/https_server.py",
          folder.c_str(), nullptr);
    _exit(127);
  }
  input_ = core::Descriptor(input[1]);
  close(input[0]);
  close(output[1]);
  FILE* ports = fdopen(output[0], "r");
  if (!ports || fscanf(ports, "%d %d", &secure_port_, &plain_port_) != 2)
    throw std::runtime_error("https_server.py does not start");
  fclose(ports);
}

HttpsServer::~HttpsServer() {
  input_.close();
  waitpid(process_, nullptr, 0);
}

void HttpsServer::serve(const std::string& name, const Bytes& bytes) const {
  write_file(folder_ / "files" / name, bytes);
}

std::string HttpsServer::url(const std::string& how) const {
  return "https://localhost:" + std::to_string(secure_port_) + "/" + how + "/";
}

std::string HttpsServer::proxy() const { return "http://127.0.0.1:" + std::to_string(plain_port_); }

std::vector<std::string> HttpsServer::requests() const {
  std::ifstream file(folder_ / "requests");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace sweetspot::data
