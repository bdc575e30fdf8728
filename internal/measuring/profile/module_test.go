package profile

import (
	"testing"

	"github.com/google/pprof/profile"
)

// With the module's path its packages and main are the program's own. Without it, what is neither of the standard
// library nor downloaded or vendored is.
func TestInModule(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, module string
		want               bool
	}{
		{"main.handle", "/src/main.go", "", true},
		{"main.handle.func1", "/src/main.go", "shop", true},
		{"shop/price.Of", "/src/price/price.go", "shop", true},
		{"shop.Of", "/src/price.go", "shop", true},
		{"shopping.Of", "/src/price.go", "shop", false},
		{"example.com/shop/v2.(*T[go.shape.struct { a/b.c }]).Of", "/src/t.go", "example.com/shop/v2", true},
		{"example.com/shop%2ego.Of", "/src/t.go", "example.com/shop.go", true},
		{"github.com/valyala/fasthttp.(*Server).serveConn", "/src/fasthttp/server.go", "shop", false},
		{"github.com/valyala/fasthttp.(*Server).serveConn", "/go/pkg/mod/github.com/valyala/fasthttp@v1.74.0/server.go", "", false},
		{"github.com/valyala/fasthttp.(*Server).serveConn", "/src/vendor/github.com/valyala/fasthttp/server.go", "", false},
		{"example.com/shop/price.Of", "/src/price/price.go", "", true},
		{"crypto/sha256.block", "/usr/lib/go/src/crypto/sha256/block.go", "", false},
		{"net/http.(*conn).serve", "net/http/server.go", "shop", false},
		{"?", "", "", false},
	} {
		var modules []string
		if tc.module != "" {
			modules = []string{"example.com/libs", tc.module}
		}
		if got := inModule(&profile.Function{Name: tc.name, Filename: tc.file}, modules); got != tc.want {
			t.Errorf("%s in %s, module %q: got %v", tc.name, tc.file, tc.module, got)
		}
	}
}
