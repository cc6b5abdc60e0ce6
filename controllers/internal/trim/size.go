package trim

import "reflect"

// Size returns the approximate number of bytes of a value, including the values behind pointers. Size supports the Go
// types of API objects. A value with several references is counted for each reference.
func Size(v any) int {
	value := reflect.ValueOf(v)
	if !value.IsValid() {
		return 0
	}
	return int(value.Type().Size()) + behind(value)
}

// behind returns the number of bytes that a value references beyond its own size.
func behind(v reflect.Value) int {
	size := 0
	switch v.Kind() {
	case reflect.String:
		size = v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			size = int(v.Elem().Type().Size()) + behind(v.Elem())
		}
	case reflect.Slice:
		size = v.Cap() * int(v.Type().Elem().Size())
		for i := 0; i < v.Len() && pointing(v.Type().Elem().Kind()); i++ {
			size += behind(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() { //nolint:modernize // v.Fields allocates for each field
			size += behind(v.Field(i))
		}
	case reflect.Map:
		for pairs := v.MapRange(); pairs.Next(); {
			size += 2*int(v.Type().Key().Size()+v.Type().Elem().Size()) + behind(pairs.Key()) + behind(pairs.Value())
		}
	}
	return size
}

// pointing returns true if values of the kind can reference further memory.
func pointing(k reflect.Kind) bool { return k > reflect.Complex128 }
