package hub

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrEnough ends Pages without an error.
var ErrEnough = errors.New("no further page is needed")

// Pages reads a list from the API server page by page, because a cache does not page. For each page, Pages calls each
// with the page and with the token for reading the same page again. fresh must return a new list for each page: a used
// list would mix its items with the new items. The options set the length of a page.
func Pages[L client.ObjectList](
	ctx context.Context, from client.Reader, fresh func() L, each func(page L, token string) error, options ...client.ListOption,
) error {
	for token := ""; ; {
		page := fresh()
		if err := from.List(ctx, page, append(slices.Clip(options), client.Continue(token))...); err != nil {
			return err
		}
		if err := each(page, token); errors.Is(err, ErrEnough) {
			return nil
		} else if err != nil {
			return err
		}
		about, err := meta.ListAccessor(page)
		if err != nil {
			return err
		}
		if token = about.GetContinue(); token == "" {
			return nil
		}
	}
}
