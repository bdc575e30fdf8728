package server

import "net"

// checkAddresses checks both listeners' addresses, and that they are two.
func (c *Config) checkAddresses() error {
	host, port, err := checkAddress("addr", c.Addr)
	if err != nil || c.Admin == "off" {
		return err
	}
	adminHost, adminPort, err := checkAddress("admin", c.Admin)
	if err != nil {
		return err
	}
	if port == adminPort && port != 0 && (host == adminHost || host.everywhere() || adminHost.everywhere()) {
		return badConfig("--addr %s and --admin %s are one address; give one of them another port", c.Addr, c.Admin)
	}
	return nil
}

// A host is an address's, spelt in one way where that needs no look-up.
type host string

func (h host) everywhere() bool { return h == "" || net.ParseIP(string(h)).IsUnspecified() }

// checkAddress takes a flag's address apart. A port may have a name, like http.
func checkAddress(flag, addr string) (host, int, error) {
	name, service, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, badConfig("--%s %q is not host:port (like 127.0.0.1:8080, or :8080 for every interface)", flag, addr)
	}
	port, err := net.LookupPort("tcp", service)
	if err != nil {
		return "", 0, badConfig("--%s %q has no port %q; ports are 0, for any that is free, to 65535", flag, addr, service)
	}
	if name == "localhost" {
		name = "127.0.0.1"
	}
	return host(name), port, nil
}
