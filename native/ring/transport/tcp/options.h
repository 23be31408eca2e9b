// TcpOptions: how the TCP links of one rank are made. Plain value.
#pragma once

#include <string>  // for string

namespace ring::transport::tcp {

struct TcpOptions {
  std::string port_range;       // ports to listen on, "40000-40100"; empty: any
  bool tls = false;             // TLS 1.3 on all TCP connections; the same on every rank
  int streams = 1;              // data connections of each link; the smaller number of the two ends counts
  int socket_buffer_bytes = 0;  // each way; 0: the system finds out itself
};

}  // namespace ring::transport::tcp
