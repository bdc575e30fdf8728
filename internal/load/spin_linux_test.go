package load

const spinOK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
