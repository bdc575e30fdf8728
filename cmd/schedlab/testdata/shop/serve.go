package main

import (
	"context"
	"net/http"
)

func serve(_ context.Context, addr string, h http.Handler) error {
	return http.ListenAndServe(addr, h)
}
