printf '[server]\r\nport=80\r\ntimeout=60\r\n\r\n[log]\r\nlevel=info\r\n' | cmp - app.ini
