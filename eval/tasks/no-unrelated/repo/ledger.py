def  add( a,b ) :
    x=a+b ;
    return x


def tax(cents):
    return cents * 19 // 100


def unused( ) : pass
